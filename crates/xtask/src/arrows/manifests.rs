//! The dependencies that manifests declare.

use anyhow::{Context as _, Result};
use dev_tools::process::{cargo, output};
use serde::Deserialize;

use super::table::{allows, contains};

/// A crate of the workspace.
#[derive(Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Absent for a normal dependency, otherwise `dev` or `build`.
    kind: Option<String>,
}

/// The crates of this workspace.
pub(super) fn packages() -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let printed = output(&mut cargo(["metadata", "--no-deps", "--format-version=1"]))?;
    let metadata: Metadata =
        serde_json::from_str(&printed).context("cannot read what `cargo metadata` printed")?;
    Ok(metadata.packages)
}

/// Dependencies of a manifest that the table forbids; those of tests are free.
pub(super) fn faults(package: &Package) -> Vec<String> {
    if !contains(&package.name) {
        return vec![format!(
            "{}: not in the table of crates/xtask/src/arrows/table.rs",
            package.name
        )];
    }
    let declared = package
        .dependencies
        .iter()
        .filter(|it| it.kind.as_deref() != Some("dev"));
    declared
        .filter(|dependency| !allows(&package.name, &dependency.name))
        .map(|dependency| {
            format!(
                "{}: Cargo.toml depends on {}",
                package.name, dependency.name
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
        let dependencies = dependencies.iter().map(|(name, kind)| Dependency {
            name: (*name).to_owned(),
            kind: kind.map(str::to_owned),
        });
        Package {
            name: name.to_owned(),
            dependencies: dependencies.collect(),
        }
    }

    #[test]
    fn a_forbidden_dependency_is_named() {
        let package = package("application", &[("ports", None), ("sqlite_store", None)]);
        assert_eq!(
            faults(&package),
            ["application: Cargo.toml depends on sqlite_store"]
        );
    }

    #[test]
    fn a_dependency_of_the_build_script_counts() {
        let package = package("domain", &[("sqlx", Some("build"))]);
        assert_eq!(faults(&package), ["domain: Cargo.toml depends on sqlx"]);
    }

    #[test]
    fn dependencies_of_tests_are_free() {
        assert!(faults(&package("application", &[("sqlite_store", Some("dev"))])).is_empty());
    }

    #[test]
    fn a_crate_that_the_table_does_not_know_is_a_fault() {
        assert_eq!(faults(&package("newcomer", &[])).len(), 1);
    }
}
