//! Where metrics are posted to, and with which headers.

use std::fmt;
use std::str::FromStr;

use ureq::http::{HeaderName, HeaderValue, Uri};

/// Where a collector takes metrics when only its address is given.
const USUAL_PATH: &str = "/v1/metrics";

/// The address of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(Uri);

/// An address that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address of a collector; write http://localhost:4318, or https:// and its whole path")]
pub struct TargetError(String);

impl FromStr for Target {
    type Err = TargetError;

    /// Reads a URL; one without a path is the root of a collector.
    fn from_str(text: &str) -> Result<Target, TargetError> {
        let wrong = || TargetError(text.to_owned());
        let uri: Uri = text.trim().parse().map_err(|_| wrong())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.host().is_none_or(str::is_empty) {
            return Err(wrong());
        }
        let mut parts = uri.into_parts();
        let is_root = parts.path_and_query.as_ref().is_none_or(|path| ["", "/"].contains(&path.as_str()));
        if is_root {
            parts.path_and_query = Some(USUAL_PATH.parse().map_err(|_| wrong())?);
        }
        Uri::from_parts(parts).map(Target).map_err(|_| wrong())
    }
}

impl Target {
    pub(super) fn uri(&self) -> &Uri {
        &self.0
    }
}

impl fmt::Display for Target {
    /// Without the user and the password that may be in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = self.0.authority().map_or("", |authority| authority.as_str());
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        write!(f, "{}://{host}{}", self.0.scheme_str().unwrap_or("http"), self.0.path())
    }
}

/// Headers that are sent with everything.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(HeaderName, HeaderValue)>);

/// Headers that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "header {0} of OTEL_EXPORTER_OTLP_HEADERS cannot be understood; write name=value,name=value, with %20 for a space"
)]
pub struct HeadersError(usize);

impl Headers {
    /// The environment variable that holds them.
    pub const VARIABLE: &str = "OTEL_EXPORTER_OTLP_HEADERS";

    pub(super) fn iter(&self) -> impl Iterator<Item = &(HeaderName, HeaderValue)> {
        self.0.iter()
    }
}

impl FromStr for Headers {
    type Err = HeadersError;

    /// Reads `name=value,name=value`, where values are percent-encoded.
    fn from_str(text: &str) -> Result<Headers, HeadersError> {
        let mut headers = Vec::new();
        for (place, pair) in text.split(',').enumerate() {
            if pair.trim().is_empty() {
                continue;
            }
            // A value may be a secret: it is not repeated.
            let wrong = || HeadersError(place + 1);
            let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
            let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
            let value = decoded(value.trim()).ok_or_else(wrong)?;
            let mut value = HeaderValue::from_bytes(&value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            headers.push((name, value));
        }
        Ok(Headers(headers))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// The bytes that percent-encoded text encodes.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_a_path_are_roots_of_collectors() {
        for (text, shown) in [
            ("http://localhost:4318", "http://localhost:4318/v1/metrics"),
            ("http://localhost:4318/", "http://localhost:4318/v1/metrics"),
            ("https://otlp.example.org/otlp/v1/metrics", "https://otlp.example.org/otlp/v1/metrics"),
            ("https://me:secret@[2001:db8::1]:443", "https://[2001:db8::1]:443/v1/metrics"),
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), shown);
        }
        for text in ["", "localhost:4318", "ftp://localhost", "http://", "http:///v1", "grpc://x:4317", "/v1"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn headers_are_decoded_and_never_shown() {
        let headers: Headers = "authorization=Bearer%20abc%3D, x-tenant=7,,".parse().unwrap();
        let found: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(found, [("authorization", &b"Bearer abc="[..]), ("x-tenant", b"7")]);
        assert!(!format!("{headers:?}").contains("abc"));
        for text in ["secret", "a=b,secret", "a b=secret", "a=secret%2", "a=secret%zz", "a=secret%0a"] {
            let error = text.parse::<Headers>().unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("name=value"), "{text}: {error}");
        }
        assert_eq!("".parse::<Headers>().unwrap(), Headers::default());
    }
}
