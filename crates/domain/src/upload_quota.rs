//! How much a principal may upload on a day.

use crate::{LimitOverrides, Principal, Timestamp};

const DAY_MILLISECONDS: i64 = 24 * 60 * 60 * 1_000;

/// The limits of a principal's uploads on a day of UTC. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UploadQuota {
    /// The number of files.
    pub files: Option<u32>,
    /// Their bytes.
    pub bytes: Option<u64>,
}

/// The uploads of a principal on a day of UTC. Deleted files count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uploads {
    /// The number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A limit of a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadPolicy {
    /// The limit of the number of files.
    Files,
    /// The limit of their bytes.
    FileBytes,
}

impl UploadQuota {
    /// Returns the quota of a caller whose credential has these limits: those of users are `of_users` unless it
    /// has its own, keys and clients only have their own.
    #[must_use]
    pub fn of(caller: &Principal, limits: &LimitOverrides, of_users: Self) -> Self {
        let default = caller.user_id.as_ref().map(|_| of_users);
        let default = default.unwrap_or_default();
        Self {
            files: limits.files_per_day.or(default.files),
            bytes: limits.file_bytes_per_day.or(default.bytes),
        }
    }

    /// Returns whether there is a limit.
    pub const fn is_limited(&self) -> bool {
        self.files.is_some() || self.bytes.is_some()
    }

    /// Returns the limit that these uploads exceed.
    pub fn exceeded_by(&self, uploads: Uploads) -> Option<UploadPolicy> {
        let is_above = |limit: Option<u64>, number| limit.is_some_and(|limit| number > limit);
        if is_above(self.files.map(u64::from), uploads.files) {
            return Some(UploadPolicy::Files);
        }
        is_above(self.bytes, uploads.bytes).then_some(UploadPolicy::FileBytes)
    }
}

impl Uploads {
    /// Returns the uploads of files of these sizes.
    pub fn of(sizes: impl IntoIterator<Item = u64>) -> Self {
        let each = sizes.into_iter().map(|bytes| Self { files: 1, bytes });
        each.fold(Self::default(), Self::and)
    }

    /// Returns these uploads and more.
    #[must_use]
    pub const fn and(self, more: Self) -> Self {
        Self {
            files: self.files.saturating_add(more.files),
            bytes: self.bytes.saturating_add(more.bytes),
        }
    }
}

/// Returns the end of the day of UTC to which a time belongs.
pub const fn end_of_day(time: Timestamp) -> Timestamp {
    let days = time.milliseconds().div_euclid(DAY_MILLISECONDS);
    Timestamp::from_milliseconds((days + 1) * DAY_MILLISECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_upload_above_a_limit_exceeds_it() {
        let quota = UploadQuota {
            files: Some(2),
            bytes: Some(100),
        };
        let uploads = |files, bytes| Uploads { files, bytes };
        assert_eq!(quota.exceeded_by(uploads(2, 100)), None);
        let (files, bytes) = (Some(UploadPolicy::Files), Some(UploadPolicy::FileBytes));
        assert_eq!(quota.exceeded_by(uploads(3, 1)), files);
        assert_eq!(quota.exceeded_by(uploads(1, 101)), bytes);
        assert_eq!(
            quota.exceeded_by(uploads(2, 90).and(Uploads::of([10]))),
            files
        );
        assert_eq!(UploadQuota::default().exceeded_by(uploads(9, 900)), None);
    }

    #[test]
    fn days_end_at_midnight_in_utc() {
        let end = |text: &str| end_of_day(text.parse().unwrap()).to_string();
        let midnight = "2026-05-05T00:00:00.000Z";
        assert_eq!(end("2026-05-04T00:00:00Z"), midnight);
        assert_eq!(end("2026-05-04T23:59:59.999Z"), midnight);
        assert_eq!(end("1969-12-31T12:00:00Z"), "1970-01-01T00:00:00.000Z");
    }
}
