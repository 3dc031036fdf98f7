//! Reports: JSON on stdout or in a file, a line of prose on stderr.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::Failure;
use crate::whole::WholeFile;

/// Writes `report`, indented, and a newline.
pub(crate) fn write_json(out: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)
}

/// Says something on stderr. Where that is closed there is nobody to tell.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A file that will hold a report.
#[derive(Debug)]
pub(crate) struct JsonFile(WholeFile);

impl JsonFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        WholeFile::create(path).map(Self)
    }

    /// Writes the report and gives the file its name.
    pub(crate) fn finish(self, report: &impl Serialize) -> Result<(), Failure> {
        self.0.finish(|out| write_json(out, report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

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
