//! An answer as a stream, told by one future that the stream itself drives: when the stream is
//! dropped, the future and all that it holds open is dropped with it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{Stream, StreamExt as _, future::BoxFuture};
use ports::{ReplyChunk, ReplyError, ReplyStream};
use tokio::sync::mpsc::{Receiver, Sender, channel};

type Outcome = Result<ReplyChunk, ReplyError>;

/// Tells the pieces of an answer to whoever reads the stream, and waits until they are taken: at
/// most one waits to be read.
#[derive(Debug)]
pub(crate) struct Voice(Sender<ReplyChunk>);

impl Voice {
    pub(crate) async fn tell(&self, chunk: ReplyChunk) {
        // The reader goes only together with the future that tells.
        let _ = self.0.send(chunk).await;
    }
}

/// The stream of what `speech` tells, and at last of its outcome.
pub(crate) fn spoken<F>(speech: impl FnOnce(Voice) -> F) -> ReplyStream
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let (sender, told) = channel(1);
    let speech = Box::pin(speech(Voice(sender)));
    Spoken {
        told,
        state: State::Speaking(speech),
    }
    .boxed()
}

struct Spoken {
    told: Receiver<ReplyChunk>,
    state: State,
}

enum State {
    Speaking(BoxFuture<'static, Outcome>),
    /// The outcome comes after what was told before it.
    Over(Outcome),
    Ended,
}

impl Stream for Spoken {
    type Item = Outcome;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Outcome>> {
        let this = self.get_mut();
        if let State::Speaking(speech) = &mut this.state {
            if let Poll::Ready(Some(chunk)) = this.told.poll_recv(context) {
                return Poll::Ready(Some(Ok(chunk)));
            }
            match speech.as_mut().poll(context) {
                Poll::Ready(outcome) => this.state = State::Over(outcome),
                Poll::Pending => return this.told.poll_recv(context).map(|it| it.map(Ok)),
            }
        }
        // Not by polling, which may say that nothing is there only to let other tasks run.
        if let Ok(chunk) = this.told.try_recv() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        match std::mem::replace(&mut this.state, State::Ended) {
            State::Over(outcome) => Poll::Ready(Some(outcome)),
            State::Speaking(_) | State::Ended => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::FinishReason;

    use super::*;

    const END: ReplyChunk = ReplyChunk::End {
        finish_reason: FinishReason::Stop,
        usage: None,
    };

    fn delta(text: &str) -> ReplyChunk {
        ReplyChunk::Delta(text.to_owned())
    }

    #[tokio::test]
    async fn tells_everything_in_order_and_then_the_outcome() {
        let stream = spoken(|voice| async move {
            for number in 0..500 {
                voice.tell(delta(&number.to_string())).await;
            }
            Ok(END)
        });
        let told: Vec<_> = stream.map(Result::unwrap).collect().await;
        assert_eq!(told.len(), 501);
        assert_eq!(told[0], delta("0"));
        assert_eq!(told[499], delta("499"));
        assert_eq!(told[500], END);
    }

    #[tokio::test]
    async fn an_error_comes_after_what_was_said() {
        let stream = spoken(|voice| async move {
            voice.tell(delta("a")).await;
            Err(ReplyError::TimedOut)
        });
        let told: Vec<_> = stream.collect().await;
        assert_eq!(told.len(), 2);
        assert!(matches!(told[1], Err(ReplyError::TimedOut)));
    }

    #[tokio::test]
    async fn a_dropped_stream_drops_the_speech() {
        let (held, mut watched) = channel::<()>(1);
        let mut stream = spoken(|voice| async move {
            voice.tell(delta("a")).await;
            held.closed().await;
            Ok(END)
        });
        assert_eq!(stream.next().await.unwrap().unwrap(), delta("a"));
        drop(stream);
        assert_eq!(watched.recv().await, None);
    }
}
