//! The files of a message: those that a client names or sends, and what models receive of them.

use std::sync::Arc;

use bytes::Bytes;
use domain::{
    Agent, BlobKey, FaultCode, FileId, FileKinds, FileReference, FileRefusal, IdempotencyKey,
    InputFault, Principal, StoredFile, TenantId, Uploads,
};
use futures::{TryStreamExt as _, future::try_join_all};
use ports::{BlobError, BlobStore, FileContents, ModelRequest, RepositoryError};

use super::{
    ChatContext,
    attached::{AttachedFile, NewFile, WebAddress},
    attempt::ChatAttempt,
    command::ChatError,
    fetched_files::Fetcher,
    sent_files::{SentFile, chosen, with_texts_within},
};
use crate::{FileError, cache::CachedPorts, engines::Candidate};

/// The default of the maximum number of bytes of their contents.
pub(super) const DEFAULT_BYTES: u64 = 20 * 1024 * 1024;

/// The files of a message on their way to the store.
pub(super) enum MessageFiles {
    /// As the client sends them.
    Sent(Vec<AttachedFile>),
    /// Stored.
    Stored(Vec<FileReference>),
}

/// A file of a message before the message is accepted.
pub(super) enum PendingFile<'a> {
    /// One whose type is known.
    Judged(JudgedFile),
    /// One that must be fetched.
    Web(&'a WebAddress),
}

/// A file whose type is known.
pub(super) struct JudgedFile {
    /// Of a file that is not stored, with an id that no stored file has.
    pub(super) reference: FileReference,
    source: Source,
}

enum Source {
    Blob(BlobKey),
    New(NewFile),
}

/// Finds the files that a client attaches, which it may read, which are not those of notes alone, and which `may_use`
/// accepts, and judges the types of those that it sends.
pub(super) async fn judge_files<'a>(
    context: &ChatContext,
    caller: &Principal,
    attached: &'a [AttachedFile],
    may_use: impl Fn(&StoredFile) -> bool,
) -> Result<Vec<PendingFile<'a>>, ChatError> {
    let (ports, now) = (&context.ports, context.ports.clock.now());
    let stored = attached.iter().filter_map(|file| match file {
        AttachedFile::Stored(id) => Some(*id),
        AttachedFile::Sent(_) | AttachedFile::Web(_) => None,
    });
    let stored: Vec<_> = stored.collect();
    let found = match &*stored {
        [] => Vec::new(),
        ids => ports.files.find(&caller.tenant, ids).await?,
    };
    let mut pending = Vec::new();
    for (index, file) in attached.iter().enumerate() {
        pending.push(match file {
            AttachedFile::Stored(id) => {
                let file = found.iter().find(|it| it.file.reference.id == *id);
                let file = file.filter(|file| file.may_be_read_by(caller, now));
                let file = file.filter(|file| file.is_for_messages() && may_use(file));
                let file = file.ok_or(ChatError::FileNotFound)?;
                PendingFile::Judged(JudgedFile {
                    reference: file.file.reference.clone(),
                    source: Source::Blob(file.blob),
                })
            }
            AttachedFile::Sent(sent) => {
                let judged = JudgedFile::new(context, sent.file.clone());
                let refused = |refusal| ChatError::FileRefused { index, refusal };
                PendingFile::Judged(judged.map_err(refused)?)
            }
            AttachedFile::Web(address) => PendingFile::Web(address),
        });
    }
    Ok(pending)
}

/// Fetches the files on the web, and judges their types.
pub(super) async fn fetch_files(
    context: &ChatContext,
    caller: &Principal,
    pending: Vec<PendingFile<'_>>,
) -> Result<Vec<JudgedFile>, ChatError> {
    let mut web = Fetcher::new(context, caller);
    let mut judged = Vec::new();
    for (index, file) in pending.into_iter().enumerate() {
        judged.push(match file {
            PendingFile::Judged(file) => file,
            PendingFile::Web(address) => {
                let fetched = web.fetch(index, address).await?;
                let refused = |refusal| ChatError::FileRefused { index, refusal };
                JudgedFile::new(context, fetched).map_err(refused)?
            }
        });
    }
    Ok(judged)
}

impl JudgedFile {
    /// Judges a file that is not stored.
    fn new(context: &ChatContext, file: NewFile) -> Result<Self, FileRefusal> {
        let id = FileId::new(context.ports.ids.next_id());
        let reference = context.files.judge(id, file.declared(), &file.content)?;
        Ok(Self {
            reference,
            source: Source::New(file),
        })
    }
}

/// Has the files that are not stored scanned.
pub(super) async fn scan_files(
    context: &ChatContext,
    judged: &[JudgedFile],
) -> Result<(), ChatError> {
    let scans = judged.iter().enumerate().map(|(index, file)| async move {
        let Source::New(new) = &file.source else {
            return Ok(());
        };
        match context.files.scan(new.pieces()).await {
            Err(FileError::NotAccepted(refusal)) => Err(ChatError::FileRefused { index, refusal }),
            scanned => Ok(scanned?),
        }
    });
    try_join_all(scans).await?;
    Ok(())
}

/// The files of a message whose types are known, with their indexes.
pub(super) fn known<'p>(
    pending: &'p [PendingFile<'_>],
) -> impl Iterator<Item = (usize, &'p FileReference)> {
    let known = |(index, file): (usize, &'p PendingFile<'_>)| match file {
        PendingFile::Judged(file) => Some((index, &file.reference)),
        PendingFile::Web(_) => None,
    };
    pending.iter().enumerate().filter_map(known)
}

/// The files of a message, with their indexes.
pub(super) fn references(judged: &[JudgedFile]) -> impl Iterator<Item = (usize, &FileReference)> {
    judged.iter().map(|file| &file.reference).enumerate()
}

/// Returns what the files that are not stored would count for the quota at least, before those on the web are fetched.
pub(super) fn least_uploads(pending: &[PendingFile<'_>]) -> Uploads {
    let sizes = pending.iter().filter_map(|file| match file {
        PendingFile::Web(_) => Some(1),
        PendingFile::Judged(JudgedFile { source, reference }) => {
            matches!(source, Source::New(_)).then_some(reference.bytes)
        }
    });
    Uploads::of(sizes)
}

/// Stores the files that are not stored yet, all or none. A repetition of the message finds them by its key.
pub(super) async fn store_files(
    context: &ChatContext,
    attempt: &ChatAttempt,
    judged: Vec<JudgedFile>,
) -> Result<Vec<FileReference>, ChatError> {
    let (caller, quota) = (&attempt.caller, attempt.quota);
    let mut uploads = Vec::new();
    let mut stored = Vec::new();
    for file in judged {
        stored.push(match file.source {
            Source::Blob(_) => Some(file.reference),
            Source::New(new) => {
                uploads.push(new.into_upload(quota));
                None
            }
        });
    }
    let mut created = Vec::new();
    if !uploads.is_empty() {
        let key = attempt.idempotency.as_ref().map(|entry| {
            // A message that was refused may come again with other files.
            let files = attempt.command.files.iter().map(AttachedFile::identity);
            let parts: Vec<_> = [entry.key.to_string()].into_iter().chain(files).collect();
            let parts: Vec<_> = parts.iter().map(String::as_str).collect();
            IdempotencyKey::derived("files", &parts)
        });
        created = context
            .files
            .upload_all(caller, (uploads, quota), key)
            .await?;
    }
    let mut created = created.into_iter().map(|file| file.reference);
    let all = stored
        .into_iter()
        .map(|file| file.or_else(|| created.next()));
    all.collect::<Option<_>>().ok_or(ChatError::FileNotFound)
}

/// Rejects files that the agent's own engine, the first of the chain, does not take, and more than a request to a
/// model contains.
pub(super) async fn check_files(
    context: &ChatContext,
    files: impl Iterator<Item = (usize, &FileReference)>,
    (agent, chain): (&Agent, &[Candidate]),
) -> Result<(), ChatError> {
    let Some(own) = chain.first() else {
        return Ok(());
    };
    let inputs = own.engine.inputs(&agent.config).await;
    let (mut bytes, max_bytes) = (0, context.file_bytes);
    for (index, file) in files {
        if !inputs.takes(file.media_type) {
            return Err(ChatError::FileNotAccepted { index });
        }
        bytes += file.bytes;
    }
    if bytes > max_bytes && !own.engine.is_immediate() {
        let detail = format!("at most {max_bytes} bytes in a message");
        let fault = InputFault::new("/files", FaultCode::TooLarge, detail);
        return Err(ChatError::Invalid(vec![fault]));
    }
    Ok(())
}

/// Returns the contents of the files of a message that is not stored, as the model receives them.
pub(super) async fn contents_in_memory(
    context: &ChatContext,
    request: &ModelRequest,
    (judged, chain): (Vec<JudgedFile>, &[Candidate]),
) -> Result<Arc<FileContents>, ChatError> {
    let mut contents = FileContents::new();
    let Some(inputs) = inputs_of(request, chain).await else {
        return Ok(Arc::default());
    };
    let chosen = chosen(request, (inputs, context.file_bytes));
    for file in judged {
        if !chosen.iter().any(|it| it.reference == file.reference) {
            continue;
        }
        let bytes = match file.source {
            Source::New(new) => Some(new.content),
            Source::Blob(blob) => {
                let Some(blobs) = context.ports.blobs.as_deref() else {
                    continue;
                };
                let read = read_blob(blobs, blob, &file.reference).await;
                read.map_err(|error| RepositoryError::Unavailable(error.into()))?
            }
        };
        contents.extend(bytes.map(|bytes| (file.reference.id, bytes)));
    }
    Ok(Arc::new(with_texts_within(
        contents,
        &chosen,
        text_limit(request),
    )))
}

/// Returns the contents of the files that a model receives: those of the message, and then the newest of the
/// history, as many as fit.
pub(super) async fn read_contents(
    ports: &CachedPorts,
    request: &ModelRequest,
    (chain, max_bytes): (&[Candidate], u64),
) -> Result<Arc<FileContents>, RepositoryError> {
    let Some(inputs) = inputs_of(request, chain).await else {
        return Ok(Arc::default());
    };
    let chosen = chosen(request, (inputs, max_bytes));
    if chosen.is_empty() {
        return Ok(Arc::default());
    }
    let Some(blobs) = ports.blobs.as_deref() else {
        return Ok(Arc::default());
    };
    let contents = read(ports, blobs, &request.tenant, &chosen).await?;
    Ok(Arc::new(with_texts_within(
        contents,
        &chosen,
        text_limit(request),
    )))
}

/// The maximum number of characters of all texts.
fn text_limit(request: &ModelRequest) -> usize {
    let limits = request.agent.config.history.clone();
    limits.unwrap_or_default().characters() as usize
}

/// Returns the kinds of files that a model of the chain takes; `None` if there are no files, or no model.
async fn inputs_of(request: &ModelRequest, chain: &[Candidate]) -> Option<FileKinds> {
    // Those of staff are only named.
    let mut history = request.history.iter();
    if request.files.is_empty() && history.all(|it| it.is_of_staff || it.files.is_empty()) {
        return None;
    }
    let mut inputs: Option<FileKinds> = None;
    for candidate in chain.iter().filter(|it| !it.engine.is_immediate()) {
        let own = candidate.inputs(request).await;
        inputs = Some(inputs.unwrap_or_default().or(own));
    }
    inputs
}

async fn read(
    ports: &CachedPorts,
    blobs: &dyn BlobStore,
    tenant: &TenantId,
    chosen: &[SentFile],
) -> Result<FileContents, RepositoryError> {
    let ids: Vec<_> = chosen.iter().map(|file| file.reference.id).collect();
    let stored = ports.files.find(tenant, &ids).await?;
    let read = stored.iter().map(|stored| async {
        let reference = &stored.file.reference;
        let content = read_blob(blobs, stored.blob, reference).await?;
        Ok::<_, BlobError>(content.map(|content| (reference.id, content)))
    });
    let contents = try_join_all(read).await;
    let contents = contents.map_err(|error| RepositoryError::Unavailable(error.into()))?;
    Ok(contents.into_iter().flatten().collect())
}

/// Reads a content; `None` if it is lost.
async fn read_blob(
    blobs: &dyn BlobStore,
    blob: BlobKey,
    reference: &FileReference,
) -> Result<Option<Bytes>, BlobError> {
    let size = reference.bytes;
    let pieces = match blobs.read(blob, size, 0..size).await {
        Err(BlobError::NotFound) => {
            tracing::error!(file = %reference.id, "the content of a file is lost");
            return Ok(None);
        }
        pieces => pieces?,
    };
    let content = pieces.map_ok(|piece| piece.to_vec()).try_concat().await?;
    Ok(Some(content.into()))
}
