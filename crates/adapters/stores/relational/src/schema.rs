//! The schema of a store, compared with that of this program.

use ports::RepositoryError;
use sqlx::migrate::{MigrateError, Migration, Migrator};

/// The reason why the schema of a store cannot be used or migrated.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A newer program has migrated the store. This one would misread what that one writes.
    #[error(
        "the store has schema version {store}, and this program knows versions up to {known}; start \
         the newer program, or restore a backup from before the upgrade"
    )]
    Newer {
        /// The version of the newest applied migration.
        store: i64,
        /// The version of the newest migration of this program.
        known: i64,
    },
    /// An applied migration is not the one with the same version in this program.
    #[error(
        "schema version {version} of the store is not the one of this program, so another build has \
         migrated the store; start that build, or restore a backup of this one"
    )]
    Different {
        /// The version of the migration.
        version: i64,
    },
    /// A migration failed.
    #[error("the store cannot be migrated")]
    Failed(#[from] MigrateError),
    /// The store cannot be reached.
    #[error(transparent)]
    Store(#[from] RepositoryError),
}

/// Returns the number of migrations that are not among the `applied` ones, which are versions with
/// their checksums.
pub fn pending_migrations(
    migrator: &Migrator,
    applied: &[(i64, Vec<u8>)],
) -> Result<usize, SchemaError> {
    let known = migrator.iter().map(|migration| migration.version).max();
    let known = known.unwrap_or_default();
    let store = applied.iter().map(|(version, _)| *version).max();
    if let Some(store) = store.filter(|store| *store > known) {
        return Err(SchemaError::Newer { store, known });
    }
    for (version, checksum) in applied {
        let is_same = |migration: &Migration| {
            migration.version == *version && *migration.checksum == **checksum
        };
        if !migrator.iter().any(is_same) {
            return Err(SchemaError::Different { version: *version });
        }
    }
    Ok(migrator.iter().count() - applied.len())
}

#[cfg(test)]
mod tests {
    use sqlx::{SqlSafeStr as _, migrate::MigrationType};

    use super::*;

    fn migration(version: i64, sql: &'static str) -> Migration {
        let kind = MigrationType::Simple;
        Migration::new(version, "a table".into(), kind, sql.into_sql_str(), false)
    }

    /// The result for a program with the migrations 1 and 3.
    fn compared(applied: &[Migration]) -> Result<usize, String> {
        let known = [(1, "first"), (3, "third")].map(|(version, sql)| migration(version, sql));
        let applied: Vec<_> = applied
            .iter()
            .map(|migration| (migration.version, migration.checksum.to_vec()))
            .collect();
        pending_migrations(&Migrator::with_migrations(known.into()), &applied)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn migrations_are_pending_until_they_are_applied() {
        assert_eq!(compared(&[]), Ok(2));
        assert_eq!(compared(&[migration(1, "first")]), Ok(1));
        let both = [migration(1, "first"), migration(3, "third")];
        assert_eq!(compared(&both), Ok(0));
    }

    #[test]
    fn a_newer_schema_is_rejected() {
        let newer = [
            migration(1, "first"),
            migration(4, "fourth"),
            migration(5, "fifth"),
        ];
        let error = compared(&newer).unwrap_err();
        let expected = "the store has schema version 5, and this program knows versions up to 3; ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_changed_or_unknown_migration_is_rejected() {
        for (version, sql) in [(1, "changed"), (2, "second")] {
            let error = compared(&[migration(version, sql)]).unwrap_err();
            let expected = format!("schema version {version} of the store is not the one of");
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
