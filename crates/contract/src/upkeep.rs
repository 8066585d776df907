//! Asking a store for its upkeep.

use domain::Timestamp;
use ports::{Outdated, Storage};

use crate::{answers::Answer as _, pages::TOO_MANY_PAGES, samples};

/// Nothing at all: longer ago than anything in the samples.
pub(crate) fn nothing() -> Outdated {
    let never = samples::at(-1_000_000);
    Outdated {
        deleted_before: never,
        claims_before: never,
        ended_before: never,
    }
}

/// What was deleted before.
pub(crate) fn deleted_before(deleted_before: Timestamp) -> Outdated {
    Outdated {
        deleted_before,
        ..nothing()
    }
}

/// What ended before.
pub(crate) fn ended_before(ended_before: Timestamp) -> Outdated {
    Outdated {
        ended_before,
        ..nothing()
    }
}

/// Purges in chunks until nothing is left to do; answers how many rows that touched.
pub(crate) async fn purge_all(storage: &Storage, limit: usize, outdated: Outdated) -> u64 {
    let mut all = 0;
    for _ in 0..TOO_MANY_PAGES {
        let touched = storage.maintenance.purge(limit, outdated).await.answered();
        assert!(touched <= limit as u64, "{touched} rows by {limit}");
        if touched == 0 {
            return all;
        }
        all += touched;
    }
    panic!("upkeep does not end");
}
