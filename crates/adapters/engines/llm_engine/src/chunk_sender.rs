//! A reply as a stream. The stream itself drives the future that produces it: dropping the stream
//! drops the future and everything that it holds open.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{Stream, StreamExt as _, future::BoxFuture};
use ports::{ModelChunk, ModelStream, ReplyError};
use tokio::sync::mpsc::{Receiver, Sender, channel};

type Outcome = Result<ModelChunk, ReplyError>;

/// Sends the chunks of a reply to the stream. Holds at most one chunk that has not been read.
#[derive(Debug)]
pub(crate) struct ChunkSender(Sender<ModelChunk>);

impl ChunkSender {
    /// Sends more text; an empty text is ignored.
    pub(crate) async fn send_text(&self, text: String) {
        if !text.is_empty() {
            self.send(ModelChunk::Text(text)).await;
        }
    }

    /// Sends more reasoning; an empty one is ignored.
    pub(crate) async fn send_reasoning(&self, text: String) {
        if !text.is_empty() {
            self.send(ModelChunk::Reasoning(text)).await;
        }
    }

    pub(crate) async fn send(&self, chunk: ModelChunk) {
        // The receiver is dropped only together with the future that sends.
        let _ = self.0.send(chunk).await;
    }
}

/// Returns a stream of the chunks that `producer` sends, followed by its outcome.
pub(crate) fn chunk_stream<F>(producer: impl FnOnce(ChunkSender) -> F) -> ModelStream
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let (sender, receiver) = channel(1);
    let producer = Box::pin(producer(ChunkSender(sender)));
    ChunkStream {
        receiver,
        state: State::Running(producer),
    }
    .boxed()
}

struct ChunkStream {
    receiver: Receiver<ModelChunk>,
    state: State,
}

enum State {
    Running(BoxFuture<'static, Outcome>),
    /// The outcome follows the chunks that were sent before it.
    Finished(Outcome),
    Ended,
}

impl Stream for ChunkStream {
    type Item = Outcome;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Outcome>> {
        let this = self.get_mut();
        if let State::Running(producer) = &mut this.state {
            if let Poll::Ready(Some(chunk)) = this.receiver.poll_recv(context) {
                return Poll::Ready(Some(Ok(chunk)));
            }
            match producer.as_mut().poll(context) {
                Poll::Ready(outcome) => this.state = State::Finished(outcome),
                Poll::Pending => {
                    return this.receiver.poll_recv(context).map(|chunk| chunk.map(Ok));
                }
            }
        }
        // `poll_recv` may return `Pending` only to let other tasks run, so it cannot show that the
        // channel is empty.
        if let Ok(chunk) = this.receiver.try_recv() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        match std::mem::replace(&mut this.state, State::Ended) {
            State::Finished(outcome) => Poll::Ready(Some(outcome)),
            State::Running(_) | State::Ended => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::FinishReason;

    use super::*;

    const END: ModelChunk = ModelChunk::End {
        finish_reason: FinishReason::Stop,
        usage: None,
        model: None,
        state: None,
    };

    fn delta(text: &str) -> ModelChunk {
        ModelChunk::Text(text.to_owned())
    }

    #[tokio::test]
    async fn chunks_arrive_in_order_before_the_outcome() {
        let stream = chunk_stream(|sender| async move {
            for number in 0..500 {
                sender.send(delta(&number.to_string())).await;
            }
            Ok(END)
        });
        let items: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert_eq!(items.len(), 501);
        assert_eq!(items[0], delta("0"));
        assert_eq!(items[499], delta("499"));
        assert_eq!(items[500], END);
    }

    #[tokio::test]
    async fn an_error_follows_the_chunks_sent_before_it() {
        let stream = chunk_stream(|sender| async move {
            sender.send(delta("a")).await;
            Err(ReplyError::TimedOut)
        });
        let items: Vec<_> = stream.collect().await;
        assert_eq!(items.len(), 2);
        assert!(matches!(items[1], Err(ReplyError::TimedOut)));
    }

    #[tokio::test]
    async fn a_dropped_stream_drops_the_producer() {
        let (held, mut watched) = channel::<()>(1);
        let mut stream = chunk_stream(|sender| async move {
            sender.send(delta("a")).await;
            held.closed().await;
            Ok(END)
        });
        assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
        drop(stream);
        assert_eq!(watched.recv().await, None);
    }
}
