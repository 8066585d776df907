//! Whether there is a program, as it is looked for when it is started.

use std::{ffi::OsString, os::unix::fs::PermissionsExt as _, path::Path};

/// Whether there is a file of this name that may be executed: in one of the folders of `path`,
/// unless the name says where it is.
pub(super) fn is_there(command: &str, path: Option<OsString>) -> bool {
    if command.contains('/') {
        return is_program(Path::new(command));
    }
    // What the system takes where nothing is set.
    let path = path.unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&path).any(|folder| is_program(&folder.join(command)))
}

fn is_program(path: &Path) -> bool {
    let told = path.metadata();
    told.is_ok_and(|told| told.is_file() && told.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions, write};

    use super::*;

    #[test]
    fn a_program_is_a_file_that_may_be_executed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path();
        create_dir(at.join("folder")).expect("a folder");
        for (name, mode) in [("program", 0o755), ("text", 0o644)] {
            write(at.join(name), "#!/bin/sh\n").expect("a file");
            set_permissions(at.join(name), Permissions::from_mode(mode)).expect("its mode");
        }
        let path = std::env::join_paths([Path::new("/nowhere"), at]).expect("a path");
        let found = |name: &str| {
            let whole = at.join(name);
            let by_path = is_there(name, Some(path.clone()));
            assert_eq!(is_there(whole.to_str().expect("UTF-8"), None), by_path);
            by_path
        };
        assert!(found("program"));
        assert!(!found("text"));
        assert!(!found("folder"));
        assert!(!found("nothing"));
        assert!(is_there("sh", None));
        assert!(!is_there("program", None));
    }
}
