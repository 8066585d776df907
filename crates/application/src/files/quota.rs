//! What callers may upload on a day.

use std::time::Duration;

use domain::{
    LimitOverrides, Principal, Timestamp, UploadPolicy, UploadQuota, Uploads,
    upload_quota::end_of_day,
};

use super::{FileError, FileService};

/// The rest of a caller's quota of uploads.
#[derive(Debug, Clone, Copy)]
pub struct UploadAllowance {
    /// The limits.
    pub quota: UploadQuota,
    /// The uploads of the day.
    pub uploads: Uploads,
    /// The time until the next day.
    pub wait: Duration,
}

impl FileService {
    /// Returns the quota of a caller whose credential has these limits.
    pub fn quota(&self, caller: &Principal, limits: &LimitOverrides) -> UploadQuota {
        UploadQuota::of(caller, limits, self.quota_of_users)
    }

    /// Returns what a caller may still upload; `None` if that is not limited.
    pub async fn allowance(
        &self,
        caller: &Principal,
        quota: UploadQuota,
    ) -> Result<Option<UploadAllowance>, FileError> {
        if !quota.is_limited() {
            return Ok(None);
        }
        let now = self.ports.clock.now();
        let ends_at = end_of_day(now);
        let files = &self.ports.files;
        let uploads = files.uploads(&caller.tenant, &caller.id, ends_at).await?;
        Ok(Some(UploadAllowance {
            quota,
            uploads,
            wait: ends_at.since(now),
        }))
    }

    /// Rejects uploads of a caller that cannot upload `more`, before their contents are read.
    pub(crate) async fn check_quota(
        &self,
        caller: &Principal,
        quota: UploadQuota,
        more: Uploads,
    ) -> Result<(), FileError> {
        let Some(allowance) = self.allowance(caller, quota).await? else {
            return Ok(());
        };
        match quota.exceeded_by(allowance.uploads.and(more)) {
            Some(policy) => Err(FileError::OverQuota {
                policy,
                wait: allowance.wait,
            }),
            None => Ok(()),
        }
    }
}

/// The error of an upload at this time.
pub(super) fn over_quota(policy: UploadPolicy, at: Timestamp) -> FileError {
    FileError::OverQuota {
        policy,
        wait: end_of_day(at).since(at),
    }
}
