//! The messages and tools of a request.

use std::borrow::Cow;

use domain::{FileKind, FileReference, MediaType, Role};
use serde::{Serialize, Serializer, ser::SerializeSeq};

use super::{
    AssistantToolCall, AudioData, ContentPart, FileData, Function, FunctionCall, ImageUrl,
    PromptMessage, Tool, UserContent,
};
use crate::{
    base64_text::Base64Text,
    prompt::{Content, Part, Prompt, Step, object_schema},
    step_state,
};

/// The messages of a prompt.
pub(crate) struct Messages<'a> {
    pub(crate) prompt: &'a Prompt,
    /// A message with tool calls needs a text.
    pub(crate) requires_text: bool,
}

/// Returns the tools of a prompt, as functions.
pub(crate) fn functions(prompt: &Prompt) -> Vec<Tool<'_>> {
    let tools = prompt.tools.iter().map(|tool| Tool {
        kind: "function",
        function: Function {
            name: &tool.function,
            description: &tool.definition.description,
            parameters: object_schema(&tool.definition.input_schema),
        },
    });
    tools.collect()
}

/// Serializes the messages. Texts are copied only to join them.
impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut messages = serializer.serialize_seq(None)?;
        if self.prompt.has_system_role {
            messages.serialize_element(&PromptMessage::System {
                content: &self.prompt.system,
            })?;
        }
        for part in self.prompt.parts() {
            match part {
                Part::Text(role, content, files) => {
                    let content = user_content(self.prompt.content(content, &files));
                    messages.serialize_element(&text_message(role, content))?;
                }
                Part::Step(step) => self.serialize_step(&mut messages, &step)?,
            }
        }
        messages.end()
    }
}

impl Messages<'_> {
    /// Serializes the message with the calls of a step, and those with their results.
    fn serialize_step<M: SerializeSeq>(
        &self,
        messages: &mut M,
        part: &Step<'_>,
    ) -> Result<(), M::Error> {
        let step = part.step;
        let has_content = self.requires_text || !step.response.text.is_empty();
        let calls = part.calls().enumerate();
        messages.serialize_element(&PromptMessage::Assistant {
            content: has_content.then_some(Cow::Borrowed(step.response.text.as_str())),
            reasoning_content: step_state::reasoning(step),
            tool_calls: calls
                .map(|(index, (id, call))| AssistantToolCall {
                    id,
                    kind: "function",
                    function: FunctionCall {
                        name: &call.function,
                        arguments: &call.arguments,
                    },
                    extra_content: step_state::extra_content(step, index),
                })
                .collect(),
        })?;
        for (id, call) in part.calls() {
            messages.serialize_element(&PromptMessage::Tool {
                tool_call_id: id,
                content: &call.answer(),
            })?;
        }
        Ok(())
    }
}

/// The message with a content. Only those of users have files.
fn text_message(role: Role, content: UserContent<'_>) -> PromptMessage<'_> {
    match (role, content) {
        (Role::Agent, UserContent::Text(content)) => PromptMessage::Assistant {
            content: Some(content),
            reasoning_content: None,
            tool_calls: Vec::new(),
        },
        (_, content) => PromptMessage::User { content },
    }
}

fn user_content(content: Content<'_>) -> UserContent<'_> {
    let Content { text, files } = content;
    let parts = files.iter().filter_map(|(file, bytes)| part(file, bytes));
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        return UserContent::Text(text);
    }
    let text = (!text.is_empty()).then_some(ContentPart::Text { text });
    UserContent::Parts(text.into_iter().chain(parts).collect())
}

fn part<'a>(file: &'a FileReference, content: &'a [u8]) -> Option<ContentPart<'a>> {
    match file.media_type.kind()? {
        FileKind::Image => Some(ContentPart::ImageUrl {
            image_url: ImageUrl {
                url: Base64Text::data_url(file.media_type, content),
            },
        }),
        FileKind::Pdf => Some(ContentPart::File {
            file: FileData {
                filename: &file.name,
                file_data: Base64Text::data_url(file.media_type, content),
            },
        }),
        FileKind::Audio => Some(ContentPart::InputAudio {
            input_audio: AudioData {
                data: Base64Text::new(content),
                format: if file.media_type == MediaType::Wav {
                    "wav"
                } else {
                    "mp3"
                },
            },
        }),
        FileKind::Text => None,
    }
}
