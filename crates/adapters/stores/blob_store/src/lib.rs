//! The blob store in a folder, or in a bucket of S3, Google Cloud Storage or Azure Blob Storage.
//!
//! Blobs are objects `blobs/<key>` below the folder or the prefix of the address, and the id of the store is
//! the object `store-id`. Objects of others are left alone.
//!
//! **Folders.** Contents are written to a temporary name beside the blob, synchronised to the disk and
//! renamed. On Linux they go to the disk while they arrive. The folder must support hard links, which make the
//! id atomic.
//!
//! **Buckets.** The size of a request must be known, and large blobs have parts of at least 5 MiB; so
//! contents are collected first, small ones in memory and others in a file of the folder for temporary files
//! (`TMPDIR`), and parts of all uploads together take at most 16 MiB of memory. Slow clients thus neither
//! fill the memory nor delay each other. Credentials, region and endpoint come from the usual
//! environment variables of each service: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`,
//! `AWS_ENDPOINT` and `AWS_ALLOW_HTTP` for other servers; `GOOGLE_SERVICE_ACCOUNT`;
//! `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY`. The server must know `If-None-Match: *`, which
//! makes the id atomic. Parts of uploads that a killed process left are not listed: a rule of the bucket
//! (`AbortIncompleteMultipartUpload`) removes them.

mod address;
#[cfg(any(feature = "s3", feature = "gs", feature = "az"))]
mod bucket;
#[cfg(not(any(feature = "s3", feature = "gs", feature = "az")))]
#[path = "no_bucket.rs"]
mod bucket;
mod connect;
mod error;
mod folder;
mod spool;
mod store;
mod upload;
mod writeback;

pub use address::{AddressError, BlobStoreAddress};
pub use connect::{OpenError, open};
pub use store::ObjectBlobStore;
