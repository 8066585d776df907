//! Files of a message that are fetched from the web.

use std::{sync::Arc, time::Duration};

use domain::{FaultCode, FileName, InputFault, Principal};
use ports::DocumentError;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    ChatContext,
    attached::{HeldMemory, NewFile, WebAddress, held},
    command::ChatError,
};
use crate::TakenMemory;

/// The time in which all files of a message must be fetched.
const MAX_TIME: Duration = Duration::from_secs(20);
/// The maximum number of bytes of all files of a message that are fetched.
const MAX_BYTES: usize = 20 * 1024 * 1024;

/// Fetches the files of a message, one after another. They are in memory until they are stored.
pub(super) struct Fetcher<'a> {
    context: &'a ChatContext,
    caller: &'a Principal,
    deadline: Instant,
    bytes_left: usize,
    /// The memory for the files of the message, once it is taken.
    memory: Option<Arc<TakenMemory>>,
}

impl<'a> Fetcher<'a> {
    pub(super) fn new(context: &'a ChatContext, caller: &'a Principal) -> Self {
        Self {
            context,
            caller,
            deadline: Instant::now() + MAX_TIME,
            bytes_left: MAX_BYTES,
            memory: None,
        }
    }

    /// Fetches the file at `index` of the message.
    pub(super) async fn fetch(
        &mut self,
        index: usize,
        address: &WebAddress,
    ) -> Result<NewFile, ChatError> {
        let fault = |detail: &str| {
            let pointer = format!("/files/{index}");
            let fault = InputFault::new(pointer, FaultCode::UnknownValue, detail);
            ChatError::Invalid(vec![fault])
        };
        let late = |_elapsed| fault("the files of the message could not be fetched in time");
        let memory = self.memory().await?;
        let fetching = self.context.files.fetch(&address.url, self.bytes_left);
        let fetched = timeout_at(self.deadline, fetching).await.map_err(late)?;
        let file = fetched.map_err(|error| {
            // The cause may tell about a network, and is only logged.
            tracing::info!(
                error = ports::error::one_line(&error),
                "a file of a message could not be fetched"
            );
            fault(match error {
                DocumentError::Forbidden => "is not an address from which files are fetched",
                DocumentError::Unavailable(_) => "the server of the file does not respond",
                DocumentError::InvalidResponse(_) => {
                    "the server of the file does not return it, or it is too large"
                }
            })
        })?;
        self.bytes_left -= file.content.len().min(self.bytes_left);
        let own_name = address.name.as_deref().and_then(FileName::new);
        Ok(NewFile {
            name: own_name.or(file.name),
            media_type: file.media_type.or_else(|| address.media_type.clone()),
            content: held(file.content, Some(memory)),
        })
    }

    /// Returns the memory for the files, once there is some. The time to fetch them begins then.
    async fn memory(&mut self) -> Result<HeldMemory, ChatError> {
        if let Some(memory) = &self.memory {
            return Ok(memory.clone());
        }
        let mut memory = self.context.files.memory_of(self.caller);
        let taken = timeout(MAX_TIME, memory.wait_for(MAX_BYTES)).await;
        taken.map_err(|_elapsed| ChatError::Overloaded)?;
        self.deadline = Instant::now() + MAX_TIME;
        Ok(self.memory.insert(Arc::new(memory)).clone())
    }
}
