//! The secret key of a keyed hasher, from a file.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use bloomline::hash::{Blake2b, KeyLengthError};

/// The argument of every command that hashes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SecretArgs {
    /// File of the secret key for blake2b: 1 to 64 bytes, of which one last newline does not count
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
}

/// Why there is no secret.
#[derive(Debug)]
pub(crate) enum SecretError {
    /// The file can't be read.
    Read { path: PathBuf, source: io::Error },
    /// It is none.
    Length { path: PathBuf, source: KeyLengthError },
    /// It is longer than any.
    Long { path: PathBuf },
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => write!(f, "cannot read the key file {}: {source}", path.display()),
            Self::Length { path, source } => write!(f, "the key file {}: {source}", path.display()),
            Self::Long { path } => {
                let most = Blake2b::MAX_KEY_BYTES;
                write!(f, "the key file {}: a BLAKE2b key has 1 to {most} bytes, not more", path.display())
            }
        }
    }
}

impl Error for SecretError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            Self::Length { source, .. } => Some(source),
            Self::Long { .. } => None,
        }
    }
}

impl SecretArgs {
    /// The hasher with the secret, if a file is named. One `\n` at the end of the file is the editor's and no part of
    /// the secret; everything else is, a `\r` before it too.
    pub(crate) fn read(&self) -> Result<Option<Blake2b>, SecretError> {
        let Some(path) = self.key_file.clone() else { return Ok(None) };
        // The longest key, its newline, and one byte that is too many: a device must not be read to its end.
        let mut bytes = Vec::new();
        let longest = Blake2b::MAX_KEY_BYTES + 1;
        let read = File::open(&path).and_then(|file| file.take(longest as u64 + 1).read_to_end(&mut bytes));
        if let Err(source) = read {
            return Err(SecretError::Read { path, source });
        }
        if bytes.len() > longest {
            return Err(SecretError::Long { path });
        }
        let secret = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        Blake2b::new(secret).map(Some).map_err(|source| SecretError::Length { path, source })
    }
}
