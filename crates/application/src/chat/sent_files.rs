//! The files whose contents a model receives: those of the message, and the newest of the history that fit. Like the
//! history, they change in steps, and the files of one message of the history together, so that most requests begin
//! as those before.

use domain::{
    FileKind, FileKinds, FileReference,
    history::steps::{after_step, steadiest},
};
use ports::{FileContents, ModelRequest};

/// The maximum number of files in a request to a model.
const MAX_FILES: usize = 8;
/// The position of the message that is answered.
const NOW: i64 = i64::MAX;

/// A file to send.
pub(super) struct SentFile {
    pub(super) reference: FileReference,
    /// The position of the newest message with it.
    seq: i64,
}

/// The files to send, those of the message first, then those of the newest messages.
pub(super) fn chosen(
    request: &ModelRequest,
    (inputs, max_bytes): (FileKinds, u64),
) -> Vec<SentFile> {
    let history = request.history.iter().rev();
    let history = history.filter(|message| !message.is_of_staff);
    let older = history.flat_map(|message| message.files.iter().map(|file| (message.seq, file)));
    let own = request.files.iter().map(|file| (NOW, file));
    let mut files: Vec<SentFile> = Vec::new();
    for (seq, file) in own.chain(older) {
        let is_new = files.iter().all(|it| it.reference.id != file.id);
        if is_new && inputs.takes(file.media_type) {
            let reference = file.clone();
            files.push(SentFile { reference, seq });
        }
    }
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let first = first_sent(files.iter().map(|it| it.seq), |part| {
        let counted = files.iter().map(|it| (it.seq, 1));
        let bytes = |it: &SentFile| usize::try_from(it.reference.bytes).unwrap_or(usize::MAX);
        let sized = files.iter().map(|it| (it.seq, bytes(it)));
        newest_unfit(counted, part(MAX_FILES)).max(newest_unfit(sized, part(max_bytes)))
    });
    files.retain(|file| file.seq > first);
    files
}

/// Cuts the texts of each message, in the order of its files, where they have `limit` characters, and leaves out the
/// texts of older messages that do not fit then.
pub(super) fn with_texts_within(
    mut contents: FileContents,
    files: &[SentFile],
    limit: usize,
) -> FileContents {
    let texts = files
        .iter()
        .filter(|file| file.reference.media_type.kind() == Some(FileKind::Text));
    let mut sizes: Vec<(i64, usize)> = Vec::new();
    for file in texts.clone() {
        let Some(content) = contents.get_mut(&file.reference.id) else {
            continue;
        };
        if sizes.last().is_none_or(|(seq, _)| *seq != file.seq) {
            sizes.push((file.seq, 0));
        }
        let used = sizes.last_mut().map(|(_, used)| used);
        let left = limit - used.as_ref().map_or(0, |used| **used);
        let text = String::from_utf8_lossy(content);
        let cut = text.char_indices().nth(left).map(|(at, _)| at);
        if let Some(used) = used {
            *used += text.chars().take(left).count();
        }
        if let Some(at) = cut {
            let note = "\n[The rest of the file is cut off.]";
            let text = format!("{}{note}", &text[..at]);
            *content = text.into_bytes().into();
        }
    }
    let seqs = sizes.iter().map(|(seq, _)| *seq);
    let first = first_sent(seqs, |part| {
        newest_unfit(sizes.iter().copied(), part(limit))
    });
    for file in texts.filter(|file| file.seq <= first) {
        contents.remove(&file.reference.id);
    }
    contents
}

/// Returns the position after which files are sent. `unfit` returns the newest position that does not fit a part of
/// the limits. The files of the newest message with some are left out only if they do not fit.
fn first_sent(
    newest_first: impl Iterator<Item = i64>,
    unfit: impl Fn(fn(usize) -> usize) -> i64,
) -> i64 {
    let full = unfit(|limit| limit);
    if full == 0 {
        return 0;
    }
    let mut older = newest_first.filter(|seq| *seq != NOW);
    let before_newest = older.next().map_or(0, |newest| newest - 1);
    steadiest(full, unfit(after_step).min(before_newest))
}

/// Returns the newest position whose size does not fit the limit together with all newer ones; 0 if all fit.
fn newest_unfit(mut newest_first: impl Iterator<Item = (i64, usize)>, limit: usize) -> i64 {
    let mut left = limit;
    let unfit = newest_first.find(|(_, size)| {
        let rest = left.checked_sub(*size);
        left = rest.unwrap_or(left);
        rest.is_none()
    });
    unfit.map_or(0, |(seq, _)| seq)
}

#[cfg(test)]
mod tests;
