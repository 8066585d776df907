//! What the agent says in a turn, over all the questions that it takes.

use ports::ReplyChunk;

use crate::{fault::Fault, voice::Voice};

/// The most that is said in a turn; whoever listens takes no more.
const SPOKEN_BYTES: usize = 1024 * 1024;
/// Between what is said before tools are called, and what is said then.
const PARAGRAPH: &str = "\n\n";

/// Says text, and knows how it goes on after a pause.
#[derive(Debug)]
pub(crate) struct Speech {
    voice: Voice,
    bytes: usize,
    is_within_a_line: bool,
    begins_anew: bool,
}

impl Speech {
    pub(crate) fn new(voice: Voice) -> Self {
        Self {
            voice,
            bytes: 0,
            is_within_a_line: false,
            begins_anew: false,
        }
    }

    /// Says more; nothing is not told.
    pub(crate) async fn say(&mut self, mut text: String) -> Result<(), Fault> {
        let Some(last) = text.chars().next_back() else {
            return Ok(());
        };
        if std::mem::take(&mut self.begins_anew) && self.is_within_a_line {
            text.insert_str(0, PARAGRAPH);
        }
        self.is_within_a_line = last != '\n';
        self.bytes += text.len();
        if self.bytes > SPOKEN_BYTES {
            // One answer alone is bounded where it is heard: this is the sum of several rounds, which
            // an agent can ask for.
            return Err(Fault::Useless("the upstream says too much"));
        }
        self.voice.tell(ReplyChunk::Delta(text)).await;
        Ok(())
    }

    /// The next text is a new paragraph, if there was one before.
    pub(crate) fn begin_anew(&mut self) {
        self.begins_anew = true;
    }

    /// Tells of a tool.
    pub(crate) async fn tell(&self, of_a_tool: ReplyChunk) {
        self.voice.tell(of_a_tool).await;
    }
}
