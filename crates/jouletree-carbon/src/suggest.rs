//! What the user may have meant: the known name that is nearest to an unknown one.

/// The nearest of some names, where it is near enough to be worth suggesting.
pub(crate) fn nearest<'a>(unknown: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let unknown = unknown.to_lowercase();
    let scored = names.map(|name| (strsim::jaro_winkler(&unknown, &name.to_lowercase()), name));
    scored.filter(|(score, _)| *score > 0.75).max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, name)| name)
}

/// `; did you mean X?`, or the end of the sentence.
pub(crate) fn question(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(|| ".".to_owned(), |name| format!("; did you mean `{name}`?"))
}
