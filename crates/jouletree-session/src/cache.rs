//! The user's cache folder.

use std::env;
use std::path::PathBuf;

/// Where jouletree keeps what it can make again; none where there is no place for it.
pub fn folder() -> Option<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = || Some(PathBuf::from(env::var_os("HOME").filter(|home| !home.is_empty())?).join(".cache"));
    named.or_else(usual).map(|cache| cache.join("jouletree"))
}
