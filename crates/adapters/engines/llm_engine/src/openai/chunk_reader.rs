//! Reading the chunks of a response.

use serde_json::from_slice;

use crate::{
    api::StreamState, chunk_template::ChunkTemplate, error::LlmError,
    response_accumulator::ResponseAccumulator, surrogates::replace_lone_surrogates,
};

/// Reads the chunks of one response.
#[derive(Default)]
pub(crate) struct ChunkReader {
    template: ChunkTemplate,
}

impl ChunkReader {
    /// Parses a chunk and adds it to the response.
    pub(crate) fn push(
        &mut self,
        json: &[u8],
        key: Option<&str>,
        response: &mut ResponseAccumulator,
    ) -> Result<StreamState, LlmError> {
        if let Some(text) = self.template.text(json) {
            response.push_text(text)?;
            return Ok(StreamState::Open);
        }
        let repaired;
        let chunk = match from_slice::<super::Chunk<'_>>(json) {
            Ok(chunk) => {
                self.template.remember(json, chunk.plain_text());
                chunk
            }
            Err(_error) => {
                repaired = replace_lone_surrogates(json).ok_or(LlmError::MALFORMED)?;
                from_slice(&repaired).map_err(|_error| LlmError::MALFORMED)?
            }
        };
        response.push(chunk, key)?;
        Ok(StreamState::Open)
    }
}

#[cfg(test)]
mod tests;
