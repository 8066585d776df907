//! Preconditions on the version of an agent or a conversation.

/// The versions that a conditional write accepts, as `If-Match` lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionCondition {
    /// Any version.
    Any,
    /// One of these versions. An empty list accepts none.
    OneOf(Vec<i64>),
}

impl VersionCondition {
    /// Returns whether a resource of this version may be written.
    pub fn accepts(&self, version: i64) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(versions) => versions.contains(&version),
        }
    }
}
