//! The interfaces of servers.

use domain::FileKinds;
use serde_json::Value;

use crate::{
    anthropic::{self, EventReader},
    demands::Demands,
    error::LlmError,
    openai::{self, ChunkReader},
    prompt::Prompt,
    response_accumulator::ResponseAccumulator,
};

/// The interface of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LlmApi {
    /// `OpenAI`'s chat completions.
    #[default]
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}

impl LlmApi {
    /// The path of requests below the base URL.
    pub(crate) const fn path(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &openai::PATH,
            Self::Anthropic => &anthropic::PATH,
        }
    }

    /// The header that names the version of the interface.
    pub(crate) const fn version(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::OpenAi => None,
            Self::Anthropic => Some(anthropic::VERSION),
        }
    }

    /// The maximum number of models in one answer to a request for the list, if the server has to be told.
    pub(crate) const fn page_size(self) -> Option<usize> {
        match self {
            Self::OpenAi => None,
            Self::Anthropic => Some(anthropic::MODELS_PER_PAGE),
        }
    }

    /// The members that agents may add to requests unless the operator says otherwise.
    pub(crate) const fn usual_extra_body(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &openai::USUAL_EXTRA_BODY,
            Self::Anthropic => &[],
        }
    }

    /// The members of requests that the service sends itself.
    pub(crate) const fn own_members(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &openai::OWN_MEMBERS,
            Self::Anthropic => &anthropic::OWN_MEMBERS,
        }
    }

    /// Returns whether a schema can be a parameter of requests.
    pub(crate) fn takes_schema(self, schema: &Value) -> bool {
        match self {
            Self::OpenAi => true,
            Self::Anthropic => anthropic::takes_schema(schema),
        }
    }

    /// The kinds of files that a model takes of which the list does not say it.
    pub(crate) const fn usual_inputs(self) -> FileKinds {
        FileKinds {
            image: matches!(self, Self::Anthropic),
            pdf: matches!(self, Self::Anthropic),
            audio: false,
        }
    }

    /// Returns the kinds among these for which the interface has a form.
    pub(crate) const fn accepted_inputs(self, inputs: FileKinds) -> FileKinds {
        FileKinds {
            audio: inputs.audio && matches!(self, Self::OpenAi),
            ..inputs
        }
    }

    /// Returns the body of a request.
    pub(crate) fn request_body(
        self,
        prompt: &Prompt,
        demands: &Demands<'_>,
    ) -> serde_json::Result<Vec<u8>> {
        match self {
            Self::OpenAi => openai::request_body(prompt, demands),
            Self::Anthropic => anthropic::request_body(prompt, demands),
        }
    }

    /// Returns a reader of one response.
    pub(crate) fn reader(self) -> DocumentReader {
        match self {
            Self::OpenAi => DocumentReader::OpenAi(ChunkReader::default()),
            Self::Anthropic => DocumentReader::Anthropic(EventReader::default()),
        }
    }
}

/// Reads the JSON documents of one response: the events of a stream, or the only one of another response.
pub(crate) enum DocumentReader {
    OpenAi(ChunkReader),
    Anthropic(EventReader),
}

/// The state of a stream after an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamState {
    Open,
    Done,
}

impl DocumentReader {
    /// Adds a document to the response.
    pub(crate) fn push(
        &mut self,
        json: &[u8],
        key: Option<&str>,
        response: &mut ResponseAccumulator,
    ) -> Result<StreamState, LlmError> {
        match self {
            Self::OpenAi(reader) => reader.push(json, key, response),
            Self::Anthropic(reader) => reader.push(json, key, response),
        }
    }
}
