//! Running the purge of a store in tests.

use domain::Timestamp;
use ports::RetentionCutoffs;

use crate::{Store, fixture, pages::TOO_MANY_PAGES, results::ResultExt as _};

/// Cutoffs by which nothing is outdated.
pub(crate) fn nothing() -> RetentionCutoffs {
    let never = fixture::at(-1_000_000);
    RetentionCutoffs {
        deleted_before: never,
        records_before: never,
        ended_before: never,
    }
}

/// Cutoffs for resources deleted before this time.
pub(crate) fn deleted_before(deleted_before: Timestamp) -> RetentionCutoffs {
    RetentionCutoffs {
        deleted_before,
        ..nothing()
    }
}

/// Cutoffs for rows that expired before this time.
pub(crate) fn ended_before(ended_before: Timestamp) -> RetentionCutoffs {
    RetentionCutoffs {
        ended_before,
        ..nothing()
    }
}

/// Purges in chunks until nothing is left to do. Returns the number of changed rows.
pub(crate) async fn purge_all(storage: &Store, limit: usize, outdated: RetentionCutoffs) -> u64 {
    let mut all = 0;
    for _ in 0..TOO_MANY_PAGES {
        let touched = storage.maintenance.purge(limit, outdated).await.success();
        assert!(touched <= limit as u64, "{touched} rows by {limit}");
        if touched == 0 {
            return all;
        }
        all += touched;
    }
    panic!("the purge does not end");
}
