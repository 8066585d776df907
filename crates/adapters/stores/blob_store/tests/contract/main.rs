//! The contract in a folder, and in a bucket of a server with the protocol of S3.

#![expect(clippy::unwrap_used, reason = "a failed fixture fails its test")]

mod folder;
#[cfg(feature = "s3")]
mod heavy;
