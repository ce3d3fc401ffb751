//! The token that opens the daemon to the network.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use subtle::ConstantTimeEq;

/// The fewest bytes: less can be guessed.
const SHORTEST: usize = 16;
/// The most bytes: it travels in every request's header.
const LONGEST: usize = 4096;

/// A secret that both ends know.
#[derive(Clone)]
pub struct Token(Vec<u8>);

/// Why a file gives no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("{0}: {1}")]
    Unreadable(PathBuf, #[source] io::Error),
    /// Others can read it.
    #[error("{0} can be read by others, so it is no secret; run: chmod 600 {0}")]
    Open(PathBuf),
    /// It can be guessed, or does not fit into a header.
    #[error(
        "{path} holds a token of {length} bytes; it needs {SHORTEST} to {LONGEST}; make one with: \
         head -c 32 /dev/urandom | base64 > {path}"
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// The bytes in it, without white space around them.
        length: usize,
    },
    /// It does not fit into a header.
    #[error("{0} holds more than printable ASCII; make one with: head -c 32 /dev/urandom | base64 > {0}")]
    Unprintable(PathBuf),
}

impl Token {
    /// The token in a file that no other user can read.
    pub fn read(path: &Path) -> Result<Token, TokenError> {
        let unreadable = |error| TokenError::Unreadable(path.to_owned(), error);
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.mode() & 0o077 != 0 {
            return Err(TokenError::Open(path.to_owned()));
        }
        let mut bytes = Vec::new();
        // One byte more shows that it is too long.
        file.take(LONGEST as u64 + 2).read_to_end(&mut bytes).map_err(unreadable)?;
        let bytes = bytes.trim_ascii();
        if !(SHORTEST..=LONGEST).contains(&bytes.len()) {
            return Err(TokenError::Length { path: path.to_owned(), length: bytes.len() });
        }
        if !bytes.iter().all(u8::is_ascii_graphic) {
            return Err(TokenError::Unprintable(path.to_owned()));
        }
        Ok(Token(bytes.to_vec()))
    }

    /// Whether a header `authorization` brings it. How long this takes reveals nothing but its length.
    pub fn is_in(&self, header: Option<&[u8]>) -> bool {
        let brought = header.and_then(|header| header.strip_prefix(b"Bearer ")).unwrap_or_default();
        brought.ct_eq(&self.0).into()
    }

    /// The header `authorization` that brings it.
    pub fn header(&self) -> String {
        format!("Bearer {}", String::from_utf8_lossy(&self.0))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn read(content: &[u8], mode: u32) -> Result<Token, TokenError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Token::read(&path)
    }

    #[test]
    fn only_a_secret_is_a_token() {
        let good = b"0123456789abcdef\n";
        assert!(read(good, 0o600).is_ok() && read(good, 0o400).is_ok());
        for mode in [0o640, 0o604, 0o620, 0o601] {
            assert!(matches!(read(good, mode), Err(TokenError::Open(_))), "{mode:o}");
        }
        for (content, length) in [(vec![], 0), (vec![b'a'; 15], 15), (vec![b'a'; 5000], 4098)] {
            match read(&content, 0o600) {
                Err(TokenError::Length { length: found, .. }) => assert_eq!(found, length),
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(read(b"0123456789 abcdef", 0o600), Err(TokenError::Unprintable(_))));
        assert!(matches!(Token::read(Path::new("/nowhere/token")), Err(TokenError::Unreadable(..))));
    }

    #[test]
    fn only_the_token_opens() {
        let token = read(b" 0123456789abcdef\n", 0o600).unwrap();
        assert!(token.is_in(Some(token.header().as_bytes())));
        for header in [None, Some("".as_bytes()), Some(b"Bearer "), Some(b"0123456789abcdef")] {
            assert!(!token.is_in(header));
        }
        assert!(!token.is_in(Some(b"Bearer 0123456789abcdeg")));
        assert!(!token.is_in(Some(b"Bearer 0123456789abcdef0")));
        assert!(!format!("{token:?}").contains("0123"));
    }
}
