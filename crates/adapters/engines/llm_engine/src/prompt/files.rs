//! The files of messages, in the form of OpenAI's API.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{FileKind, FileKinds, FileReference, MediaType};
use ports::FileContents;

use crate::openai::{AudioData, ContentPart, FileData, ImageUrl, UserContent};

/// The contents of files, and the kinds that the model takes.
pub(super) struct Files {
    pub(super) contents: Arc<FileContents>,
    pub(super) inputs: FileKinds,
}

impl Files {
    /// Returns a content with files. Those that the model does not take are named in its text.
    pub(super) fn content<'a>(
        &self,
        text: Cow<'a, str>,
        files: &[&'a FileReference],
    ) -> UserContent<'a> {
        if files.is_empty() {
            return UserContent::Text(text);
        }
        let mut text = text.into_owned();
        let mut parts = Vec::new();
        for file in files {
            match self.contents.get(&file.id) {
                Some(content) if file.media_type.kind() == Some(FileKind::Text) => {
                    let content = String::from_utf8_lossy(content);
                    add_paragraph(&mut text, &format!("[file: {}]\n{content}", file.name));
                }
                Some(content) => match self.part(file, content) {
                    Some(part) => parts.push(part),
                    None => add_paragraph(&mut text, &name(file)),
                },
                None => add_paragraph(&mut text, &name(file)),
            }
        }
        if parts.is_empty() {
            return UserContent::Text(text.into());
        }
        let text = (!text.is_empty()).then(|| ContentPart::Text { text: text.into() });
        UserContent::Parts(text.into_iter().chain(parts).collect())
    }

    /// Returns a file as a part of the message, if the model takes it.
    fn part<'a>(&self, file: &'a FileReference, content: &[u8]) -> Option<ContentPart<'a>> {
        if !self.inputs.takes(file.media_type) {
            return None;
        }
        match file.media_type.kind()? {
            FileKind::Image => Some(ContentPart::ImageUrl {
                image_url: ImageUrl {
                    url: data_url(file, content),
                },
            }),
            FileKind::Pdf => Some(ContentPart::File {
                file: FileData {
                    filename: &file.name,
                    file_data: data_url(file, content),
                },
            }),
            FileKind::Audio => Some(ContentPart::InputAudio {
                input_audio: AudioData {
                    data: STANDARD.encode(content),
                    format: audio_format(file.media_type)?,
                },
            }),
            FileKind::Text => None,
        }
    }
}

/// The formats of sound that the API has.
const fn audio_format(media_type: MediaType) -> Option<&'static str> {
    match media_type {
        MediaType::Wav => Some("wav"),
        MediaType::Mpeg => Some("mp3"),
        _ => None,
    }
}

fn data_url(file: &FileReference, content: &[u8]) -> String {
    let mut url = format!("data:{};base64,", file.media_type.as_str());
    STANDARD.encode_string(content, &mut url);
    url
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
