//! The files of messages.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use domain::{FileKind, FileKinds, FileReference, HistoryMessage};
use ports::FileContents;

/// The contents of files, and the kinds that the model takes.
pub(super) struct Files {
    pub(super) contents: Arc<FileContents>,
    pub(super) inputs: FileKinds,
}

/// The content of a message.
pub(crate) struct Content<'a> {
    /// The text, with the contents of text files, and the names of files that the model does not take.
    pub(crate) text: Cow<'a, str>,
    /// The files that the model takes.
    pub(crate) files: Vec<(&'a FileReference, &'a [u8])>,
}

impl Files {
    /// Returns a content with files. Those that the model does not take are named in its text.
    pub(super) fn content<'a>(
        &'a self,
        text: Cow<'a, str>,
        files: &[&'a FileReference],
    ) -> Content<'a> {
        let mut content = Content {
            text,
            files: Vec::new(),
        };
        for file in files {
            match self.contents.get(&file.id) {
                Some(bytes) if file.media_type.kind() == Some(FileKind::Text) => {
                    let text = String::from_utf8_lossy(bytes);
                    let paragraph = format!("[file: {}]\n{text}", file.name);
                    add_paragraph(content.text.to_mut(), &paragraph);
                }
                Some(bytes) if self.inputs.takes(file.media_type) => {
                    content.files.push((file, bytes));
                }
                _ => add_paragraph(content.text.to_mut(), &name(file)),
            }
        }
        content
    }
}

/// The text of a message of staff, with the names of its files. Models take contents in messages of the user alone.
pub(super) fn text_of_staff(message: &HistoryMessage) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(message.content.trim());
    for file in &message.files {
        add_paragraph(text.to_mut(), &name(file));
    }
    text
}

/// The text in place of a file.
fn name(file: &FileReference) -> String {
    let mut name = String::new();
    let (id, media_type) = (file.id, file.media_type.as_str());
    // Writing to a string cannot fail.
    let _ = write!(name, "[file: {}, id {id}, {media_type}]", file.name);
    name
}

fn add_paragraph(text: &mut String, paragraph: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}
