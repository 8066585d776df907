//! The contract in a folder, and in a bucket of a server with the protocol of S3.

mod folder;
#[cfg(feature = "s3")]
mod heavy;
