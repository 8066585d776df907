//! The content of a file on its way to the blob store.

use std::sync::Arc;

use domain::{AcceptedTypes, ContentDigest, FileName, FileRefusal, MediaType, TypeJudge};
use futures::TryStreamExt as _;
use parking_lot::Mutex;
use ports::BlobStream;
use sha2::{Digest as _, Sha256};

/// Counts, hashes and judges the content of a file while it is read.
pub(super) struct Intake {
    judge: TypeJudge,
    hasher: Sha256,
    bytes: u64,
}

/// The size, digest and type of a content that has been read.
pub(super) struct Received {
    pub(super) bytes: u64,
    pub(super) sha256: ContentDigest,
    pub(super) media_type: Result<MediaType, FileRefusal>,
}

/// The intake of a content that is being read.
pub(super) struct Reading(Arc<Mutex<Option<Intake>>>);

impl Intake {
    pub(super) fn new(declared: Option<&str>, name: Option<&FileName>) -> Self {
        Self {
            judge: TypeJudge::new(declared, name),
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.judge.push(chunk);
        self.hasher.update(chunk);
        self.bytes += chunk.len() as u64;
    }

    /// Returns the same content, and its intake.
    pub(super) fn read(self, content: BlobStream) -> (BlobStream, Reading) {
        let intake = Arc::new(Mutex::new(Some(self)));
        let reading = Reading(Arc::clone(&intake));
        let content = content.inspect_ok(move |chunk| {
            if let Some(intake) = &mut *intake.lock() {
                intake.push(chunk);
            }
        });
        (Box::pin(content), reading)
    }
}

impl Reading {
    /// Judges the content, which has been read to its end.
    pub(super) fn finish(self, accepted: &AcceptedTypes) -> Received {
        let intake = self.0.lock().take();
        let intake = intake.unwrap_or_else(|| Intake::new(None, None));
        Received {
            bytes: intake.bytes,
            sha256: ContentDigest(intake.hasher.finalize().into()),
            media_type: intake.judge.finish(accepted),
        }
    }
}
