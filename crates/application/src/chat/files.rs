//! The files of a message: those that a client names, and what models receive of them.

use std::{collections::HashMap, sync::Arc};

use domain::{
    Agent, FaultCode, FileId, FileKind, FileReference, HistoryMessage, InputFault, TenantId,
};
use futures::{TryStreamExt as _, future::try_join_all};
use ports::{BlobError, BlobStore, FileContents, ModelRequest, ReplyEngine, RepositoryError};

use super::{attempt::ChatAttempt, command::ChatError, target::ChatTarget};
use crate::{cache::CachedPorts, files::find_references};

/// The maximum number of files in a request to a model.
const MAX_FILES: usize = 8;
/// The maximum number of bytes of their contents, unless the operator sets another.
pub(super) const DEFAULT_BYTES: u64 = 20 * 1024 * 1024;

/// Finds the files of a message: those of a stored one that is answered again, or those that the client names.
pub(super) async fn find_files(
    ports: &CachedPorts,
    attempt: &ChatAttempt,
    target: &ChatTarget,
) -> Result<Vec<FileReference>, ChatError> {
    if let Some(answered) = target.answered() {
        return Ok(answered.files.clone());
    }
    let (ids, caller) = (&attempt.command.files, &attempt.caller);
    let found = find_references(ports, caller, ids, attempt.stamp.time).await?;
    found.ok_or(ChatError::FileNotFound)
}

/// Rejects files that the engine of the agent does not take, and more than `max_bytes`, which no request to a model
/// contains.
pub(super) async fn check_files(
    files: &[FileReference],
    agent: &Agent,
    engine: &dyn ReplyEngine,
    max_bytes: u64,
) -> Result<(), ChatError> {
    if files.is_empty() {
        return Ok(());
    }
    let inputs = engine.inputs(&agent.config).await;
    let takes = |file: &FileReference| {
        let kind = file.media_type.kind();
        kind.is_some_and(|kind| inputs.contains(kind))
    };
    if let Some(index) = files.iter().position(|file| !takes(file)) {
        return Err(ChatError::FileNotAccepted { index });
    }
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    if bytes > max_bytes && !engine.is_immediate() {
        let detail = format!("at most {max_bytes} bytes in a message");
        let fault = InputFault::new("/files", FaultCode::TooLarge, detail);
        return Err(ChatError::Invalid(vec![fault]));
    }
    Ok(())
}

/// Returns the contents of the files that a model receives: those of the message, and then the newest of the
/// history, as many as fit.
pub(super) async fn read_contents(
    ports: &CachedPorts,
    request: &ModelRequest,
    max_bytes: u64,
) -> Result<Arc<FileContents>, RepositoryError> {
    let chosen = chosen(request, max_bytes);
    if chosen.is_empty() {
        return Ok(Arc::default());
    }
    let Some(blobs) = ports.blobs.as_deref() else {
        return Ok(Arc::default());
    };
    let limit = request
        .agent
        .config
        .history
        .clone()
        .unwrap_or_default()
        .characters();
    let contents = read(ports, blobs, &request.tenant, &chosen).await?;
    Ok(Arc::new(with_texts_within(
        contents,
        &chosen,
        limit as usize,
    )))
}

/// The files to send, those of the message first.
fn chosen(request: &ModelRequest, max_bytes: u64) -> Vec<FileReference> {
    let history = request.history.iter().rev();
    let history = history.filter(|message| !message.is_of_staff);
    let older = history.flat_map(|message: &HistoryMessage| &message.files);
    let mut chosen: Vec<FileReference> = Vec::new();
    let mut bytes = 0;
    for file in request.files.iter().chain(older) {
        if chosen.iter().any(|it| it.id == file.id) {
            continue;
        }
        bytes += file.bytes;
        if chosen.len() == MAX_FILES || bytes > max_bytes {
            break;
        }
        chosen.push(file.clone());
    }
    chosen
}

async fn read(
    ports: &CachedPorts,
    blobs: &dyn BlobStore,
    tenant: &TenantId,
    chosen: &[FileReference],
) -> Result<HashMap<FileId, Vec<u8>>, RepositoryError> {
    let ids: Vec<_> = chosen.iter().map(|file| file.id).collect();
    let stored = ports.files.find(tenant, &ids).await?;
    let read = stored.into_iter().map(|stored| async move {
        let reference = &stored.file.reference;
        let pieces = match blobs.read(stored.blob, 0..reference.bytes).await {
            Err(BlobError::NotFound) => {
                tracing::error!(file = %reference.id, "the content of a file is lost");
                return Ok(None);
            }
            pieces => pieces?,
        };
        let content = pieces.map_ok(|piece| piece.to_vec()).try_concat().await?;
        Ok::<_, BlobError>(Some((reference.id, content)))
    });
    let contents = try_join_all(read).await;
    let contents = contents.map_err(|error| RepositoryError::Unavailable(error.into()))?;
    Ok(contents.into_iter().flatten().collect())
}

/// Cuts the texts, in the order of `files`, where all of them have `limit` characters.
fn with_texts_within(
    mut contents: HashMap<FileId, Vec<u8>>,
    files: &[FileReference],
    limit: usize,
) -> FileContents {
    let mut left = limit;
    for file in files {
        if file.media_type.kind() != Some(FileKind::Text) {
            continue;
        }
        let Some(content) = contents.get_mut(&file.id) else {
            continue;
        };
        let text = String::from_utf8_lossy(content);
        let cut = text.char_indices().nth(left).map(|(at, _)| at);
        left -= text.chars().take(left).count();
        if let Some(at) = cut {
            let note = "\n[The rest of the file is cut off.]";
            let text = format!("{}{note}", &text[..at]);
            *content = text.into_bytes();
        }
    }
    contents
}
