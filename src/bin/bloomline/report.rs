//! Reports as JSON: on stdout, or in a file that is whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Failure;

/// Writes `report`, indented, and a newline.
pub(crate) fn write_json(out: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// A file that will hold a report. Made before the work, so that a path that can't be written is known before minutes
/// are spent; it takes its name only when it is complete, and leaves nothing behind when the work fails.
#[derive(Debug)]
pub(crate) struct JsonFile {
    path: PathBuf,
    /// Where it is written until then; `None` for pipes and devices, which are written as they are.
    temporary: Option<PathBuf>,
    file: File,
}

impl JsonFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let failure = |source| Failure::Save { path: path.to_owned(), source };
        let about = fs::metadata(path).ok();
        if about.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(failure(io::ErrorKind::IsADirectory.into()));
        }
        let temporary = match about.filter(|about| !about.is_file()) {
            Some(_) => None,
            None => {
                let mut name =
                    path.file_name().ok_or_else(|| failure(io::ErrorKind::InvalidFilename.into()))?.to_owned();
                name.push(format!(".{}.part", std::process::id()));
                Some(path.with_file_name(name))
            }
        };
        let file = match &temporary {
            Some(temporary) => File::create(temporary),
            None => File::options().write(true).open(path),
        };
        Ok(Self { path: path.to_owned(), temporary, file: file.map_err(failure)? })
    }

    /// Writes the report and gives the file its name.
    pub(crate) fn finish(mut self, report: &impl Serialize) -> Result<(), Failure> {
        let written = (|| {
            let mut out = BufWriter::new(&self.file);
            write_json(&mut out, report)?;
            out.flush()?;
            if let Some(temporary) = &self.temporary {
                self.file.sync_all()?;
                fs::rename(temporary, &self.path)?;
            }
            Ok(())
        })();
        match written {
            Ok(()) => {
                self.temporary = None;
                Ok(())
            }
            Err(source) => Err(Failure::Save { path: self.path.clone(), source }),
        }
    }
}

impl Drop for JsonFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing more can be done about a file that won't go.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_not_there() {
        let folder = std::env::temp_dir().join(format!("bloomline-report-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let names = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        let path = folder.join("a.json");

        drop(JsonFile::create(&path).unwrap());
        assert!(names().is_empty());

        JsonFile::create(&path).unwrap().finish(&[1, 2]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  1,\n  2\n]\n");
        JsonFile::create(&path).unwrap().finish(&"again").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "\"again\"\n");
        assert_eq!(names(), ["a.json"]);

        for bad in [folder.clone(), folder.join("missing/a.json"), path.join("b.json"), PathBuf::from("/")] {
            let error = JsonFile::create(&bad).unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot write {}: ", bad.display())), "{error}");
        }
        assert_eq!(names(), ["a.json"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_stay_devices() {
        JsonFile::create(Path::new("/dev/null")).unwrap().finish(&1).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let full = JsonFile::create(Path::new("/dev/full")).unwrap().finish(&1).unwrap_err();
        assert!(full.to_string().starts_with("cannot write /dev/full: "), "{full}");
    }
}
