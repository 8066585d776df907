//! The search for a program, by the rules for starting it.

use std::{ffi::OsString, os::unix::fs::PermissionsExt as _, path::Path};

/// Returns whether an executable file of this name exists: in a directory of `path`, unless the
/// name contains a path itself.
pub(super) fn exists(command: &str, path: Option<OsString>) -> bool {
    if command.contains('/') {
        return is_program(Path::new(command));
    }
    // The default of the system.
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).any(|directory| is_program(&directory.join(command)))
}

fn is_program(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};

    use super::*;

    #[test]
    fn a_program_is_an_executable_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let at = directory.path();
        create_dir(at.join("directory")).expect("a directory");
        for (name, mode) in [("program", 0o755), ("text", 0o644)] {
            write(at.join(name), "#!/bin/sh\n").expect("a file");
            set_permissions(at.join(name), Permissions::from_mode(mode)).expect("its mode");
        }
        let path = std::env::join_paths([Path::new("/nowhere"), at]).expect("a path");
        let found = |name: &str| {
            let whole = at.join(name);
            let by_path = exists(name, Some(path.clone()));
            assert_eq!(exists(whole.to_str().expect("UTF-8"), None), by_path);
            by_path
        };
        assert!(found("program"));
        assert!(!found("text"));
        assert!(!found("directory"));
        assert!(!found("nothing"));
        assert!(exists("sh", None));
        assert!(!exists("program", None));
    }
}
