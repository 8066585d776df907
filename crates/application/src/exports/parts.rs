//! The parts of an export as a stream.

use futures::{StreamExt as _, stream};
use ports::RepositoryError;
use tokio::sync::mpsc;

use super::{Export, ExportPart};

/// The receiver of the parts of an export.
pub(super) struct Parts(mpsc::Sender<ExportPart>);

impl Parts {
    /// Adds a part as soon as the one before it is taken.
    pub(super) async fn push(&self, part: ExportPart) {
        // The stream holds the receiver together with the producer, which ends with it.
        let _ = self.0.send(part).await;
    }
}

/// Returns the parts that `produce` adds. It runs only while the stream is polled. Its error may replace the last
/// part: without the whole, that is of no use.
pub(super) fn stream<P>(produce: P) -> Export
where
    P: AsyncFnOnce(Parts) -> Result<(), RepositoryError> + 'static,
{
    let (sender, receiver) = mpsc::channel(1);
    let producing = Box::pin(async move { produce(Parts(sender)).await });
    stream::unfold(
        (receiver, Some(producing)),
        async |(mut receiver, mut producing)| {
            while let Some(unfinished) = &mut producing {
                tokio::select! {
                    biased;
                    Some(part) = receiver.recv() => return Some((Ok(part), (receiver, producing))),
                    ended = unfinished => {
                        producing = None;
                        if let Err(error) = ended {
                            receiver.close();
                            while receiver.try_recv().is_ok() {}
                            return Some((Err(error), (receiver, None)));
                        }
                    }
                }
            }
            let part = receiver.recv().await?;
            Some((Ok(part), (receiver, None)))
        },
    )
    .fuse()
    .boxed_local()
}

#[cfg(test)]
mod tests {
    use domain::Note;
    use futures::TryStreamExt as _;

    use super::*;

    fn notes(count: usize) -> ExportPart {
        ExportPart::Notes(Vec::<Note>::with_capacity(count))
    }

    #[tokio::test]
    async fn all_parts_arrive_in_order() {
        let export = stream(async |parts| {
            parts.push(notes(0)).await;
            parts.push(ExportPart::Messages(Vec::new())).await;
            parts.push(ExportPart::Turns(Vec::new())).await;
            Ok(())
        });
        let parts: Vec<_> = export.try_collect().await.unwrap();
        let expected = [
            notes(0),
            ExportPart::Messages(Vec::new()),
            ExportPart::Turns(Vec::new()),
        ];
        assert_eq!(parts, expected);
    }

    #[tokio::test]
    async fn an_error_is_delivered() {
        let mut export = stream(async |parts| {
            parts.push(notes(0)).await;
            parts.push(notes(0)).await;
            Err(RepositoryError::Stale { what: "test" })
        });
        assert_eq!(export.next().await.unwrap().unwrap(), notes(0));
        assert!(export.next().await.unwrap().is_err());
        assert!(export.next().await.is_none());
    }
}
