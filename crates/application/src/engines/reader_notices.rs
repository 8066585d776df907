//! The notices to the readers of a reply that it has grown.

use std::{pin::Pin, time::Duration};

use futures::StreamExt as _;
use ports::{ReplyChunk, ReplyError, ReplyStream};
use tokio::time::{Instant, Sleep, sleep_until};

use super::chain::ReplySink;

/// The minimum time between two notices of more text. Models send pieces faster than anyone reads,
/// and each notice costs every reader a write to its connection.
const INTERVAL: Duration = Duration::from_millis(1);

/// Notifies the readers of a reply: of its first text at once, and of later text once in a
/// [`INTERVAL`]. When dropped, it gives the notice that is still due.
pub(super) struct ReaderNotices<'a, S: ReplySink> {
    sink: &'a S,
    given_at: Option<Instant>,
    is_due: bool,
    /// Ends the interval; created only for a reply whose text comes faster.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, S: ReplySink> ReaderNotices<'a, S> {
    pub(super) const fn new(sink: &'a S) -> Self {
        Self {
            sink,
            given_at: None,
            is_due: false,
            timer: None,
        }
    }

    /// Returns the next chunk. Gives a due notice while it waits.
    pub(super) async fn next_chunk(
        &mut self,
        chunks: &mut ReplyStream,
    ) -> Option<Result<ReplyChunk, ReplyError>> {
        if self.is_due {
            let interval_ends = self.interval_ends();
            tokio::select! {
                // First the timer: chunks without a pause must not defer the notice.
                biased;
                () = interval_ends => self.give(),
                chunk = chunks.next() => return chunk,
            }
        }
        chunks.next().await
    }

    /// Reports more text.
    pub(super) fn report_text(&mut self) {
        let is_early = |at: Instant| at.elapsed() < INTERVAL;
        if self.given_at.is_some_and(is_early) {
            self.is_due = true;
        } else {
            self.give();
        }
    }

    /// Gives a notice at once.
    pub(super) fn give(&mut self) {
        self.is_due = false;
        self.given_at = Some(Instant::now());
        self.sink.notify();
    }

    fn interval_ends(&mut self) -> Pin<&mut Sleep> {
        let end = self.given_at.unwrap_or_else(Instant::now) + INTERVAL;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if timer.deadline() != end {
            timer.as_mut().reset(end);
        }
        timer.as_mut()
    }
}

impl<S: ReplySink> Drop for ReaderNotices<'_, S> {
    fn drop(&mut self) {
        if self.is_due {
            self.sink.notify();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use domain::{ConversationId, FinishReason};
    use futures::stream;
    use tokio::time::sleep;
    use uuid::Uuid;

    use super::*;
    use crate::engines::{LogContext, PartialReply};

    #[derive(Default)]
    struct Notices(AtomicUsize);

    impl Notices {
        fn number(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl ReplySink for Notices {
        fn log_context(&self) -> LogContext<'_> {
            LogContext {
                conversation: ConversationId::new(Uuid::nil()),
                request_id: None,
            }
        }

        fn with_reply<R>(&self, change: impl FnOnce(&mut PartialReply) -> R) -> R {
            change(&mut PartialReply::default())
        }

        fn notify(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A stream of `pieces`, each after a pause, and then silence.
    fn paced(pieces: usize, pause: Duration) -> ReplyStream {
        let pieces = stream::iter(0..pieces).then(move |_| async move {
            sleep(pause).await;
            Ok(ReplyChunk::Delta("a".to_owned()))
        });
        pieces.chain(stream::pending()).boxed()
    }

    async fn read(notices: &mut ReaderNotices<'_, Notices>, chunks: &mut ReplyStream) {
        while let Some(Ok(ReplyChunk::Delta(_))) = notices.next_chunk(chunks).await {
            notices.report_text();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_that_arrive_together_are_two_notices() {
        let end = ReplyChunk::End {
            finish_reason: FinishReason::Stop,
            usage: None,
        };
        let pieces = vec![ReplyChunk::Delta("a".to_owned()); 40];
        let mut chunks = stream::iter(pieces.into_iter().chain([end]).map(Ok)).boxed();
        let sink = Notices::default();
        let mut notices = ReaderNotices::new(&sink);
        read(&mut notices, &mut chunks).await;
        assert_eq!(sink.number(), 1, "the first piece, at once");
        drop(notices);
        assert_eq!(sink.number(), 2, "the others, with the end");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_pieces_are_not_held_back() {
        let sink = Notices::default();
        let mut notices = ReaderNotices::new(&sink);
        let mut chunks = paced(40, Duration::from_millis(5));
        let reading = read(&mut notices, &mut chunks);
        let _ = tokio::time::timeout(Duration::from_millis(203), reading).await;
        assert_eq!(sink.number(), 40);
    }

    #[tokio::test(start_paused = true)]
    async fn a_piece_soon_after_another_is_held_back_for_the_interval_only() {
        let sink = Notices::default();
        let mut notices = ReaderNotices::new(&sink);
        let first = Ok(ReplyChunk::Delta("a".to_owned()));
        let second = Ok(ReplyChunk::Delta("b".to_owned()));
        let mut chunks = stream::iter([first, second])
            .chain(stream::pending())
            .boxed();
        let reading = read(&mut notices, &mut chunks);
        let _ = tokio::time::timeout(Duration::from_millis(3), reading).await;
        assert_eq!(sink.number(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn pieces_without_a_pause_do_not_defer_the_notice() {
        let sink = Notices::default();
        let mut notices = ReaderNotices::new(&sink);
        let mut chunks = stream::repeat_with(|| Ok(ReplyChunk::Delta("a".to_owned()))).boxed();
        for _ in 0..100 {
            notices.next_chunk(&mut chunks).await;
            notices.report_text();
            tokio::time::advance(Duration::from_micros(100)).await;
        }
        assert!((9..=11).contains(&sink.number()), "{}", sink.number());
    }
}
