//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::Failure;
use crate::stored::Kept;

/// A file that will be written. That it can be is found out before the work, so that minutes are not spent in vain; it
/// is written under another name in the same folder and takes its own when all of it is on the disk. Nothing is left
/// behind when anything fails, and what had the name before is then as it was.
#[derive(Debug)]
pub(crate) struct WholeFile {
    /// As it was given, for messages.
    name: PathBuf,
    path: PathBuf,
    /// A pipe or a device: written as it is.
    special: Option<File>,
}

/// Removes a file when dropped; once that has its own name, there is nothing left to remove.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // Nothing more can be done about a file that won't go.
        let _ = fs::remove_file(&self.0);
    }
}

impl WholeFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let opened = (|| {
            // Through links, so that a link stays one.
            let (name, path) = (path.to_owned(), fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
            let special = match fs::metadata(&path) {
                Ok(about) if about.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
                Ok(about) if !about.is_file() => Some(File::options().write(true).open(&path)?),
                _ => temporary(&path).map(|_| None)?,
            };
            Ok(Self { name, path, special })
        })();
        opened.map_err(|source| Failure::Save { path: path.to_owned(), source })
    }

    /// Writes the file and gives it its name.
    pub(crate) fn finish(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let fill = |file: &File| {
            let mut out = BufWriter::with_capacity(1 << 16, file);
            write(&mut out)?;
            out.flush()
        };
        let written = match &self.special {
            Some(file) => fill(file),
            None => (|| {
                let (unfinished, file) = temporary(&self.path)?;
                fill(&file)?;
                if let Ok(about) = fs::metadata(&self.path) {
                    file.set_permissions(about.permissions())?;
                }
                file.sync_all()?;
                fs::rename(&unfinished.0, &self.path)?;
                sync_folder(&self.path)
            })(),
        };
        written.map_err(|source| Failure::Save { path: self.name, source })
    }
}

/// A new file beside `path`, under a name that nothing else has.
fn temporary(path: &Path) -> io::Result<(Temporary, File)> {
    if path.file_name().is_none() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!(".bloomline.{}.{:x}.part", std::process::id(), now.as_nanos());
    let unfinished = path.with_file_name(name);
    let file = File::options().write(true).create_new(true).open(&unfinished)?;
    Ok((Temporary(unfinished), file))
}

/// Makes the new name last, where folders can be opened: not on Windows, nor without the right to list one.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// Where a filter goes: a file, or standard output for `-`.
#[derive(Debug)]
pub(crate) enum Output {
    Stdout,
    File(WholeFile),
}

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() != "-" {
            return WholeFile::create(path).map(Self::File);
        }
        if io::stdout().is_terminal() {
            return Err(Failure::Usage("standard output is a terminal: a filter is not text".to_owned()));
        }
        Ok(Self::Stdout)
    }

    /// Writes a filter of any kind.
    pub(crate) fn finish_kept(self, filter: &Kept, out: &mut dyn Write) -> Result<(), Failure> {
        match filter {
            Kept::Bits(filter) => self.finish(filter, out),
            Kept::Counting(filter) => self.finish(filter, out),
        }
    }

    /// Writes the filter.
    pub(crate) fn finish(self, filter: &impl bloomline::format::Stored, out: &mut dyn Write) -> Result<(), Failure> {
        match self {
            Self::Stdout => bloomline::format::write(filter, out)?,
            Self::File(file) => return file.finish(|out| bloomline::format::write(filter, out).map(drop)),
        };
        Ok(())
    }
}
