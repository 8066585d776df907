//! The signals of other processes.

use std::{collections::HashMap, sync::Weak};

use ports::{EventBus as _, Signal};
use uuid::Uuid;

use crate::bus::{
    LocalBus,
    message::{Fragments, Message},
};

/// The maximum number of processes whose last message is known. Processes that have ended stay until
/// then.
const MAX_PROCESSES: usize = 1_024;

/// The maximum number of processes of which a signal is held in part, at up to 4 MiB each.
const MAX_UNFINISHED: usize = 16;
/// The distance behind the last number within which a message counts as repeated. A number further
/// behind shows that the process has not sent the last one.
const MAX_REPEATED: u64 = 4_096;

/// The bus of this process was dropped.
#[derive(Debug)]
pub struct Closed;

/// Delivers the messages of one channel to the subscribers of this process, and reports lost ones.
pub struct Inbox {
    /// This process, whose own messages show only that the channel works.
    process: Uuid,
    local: Weak<LocalBus>,
    senders: HashMap<Uuid, MessageSender>,
}

/// The state of the messages from another process.
struct MessageSender {
    last_number: u64,
    fragments: Fragments,
}

impl Inbox {
    /// Creates the inbox of a process.
    pub fn new(process: Uuid, local: Weak<LocalBus>) -> Self {
        Self {
            process,
            local,
            senders: HashMap::new(),
        }
    }

    /// Forgets the received messages, before the channel is subscribed to.
    pub fn reset(&mut self) {
        self.senders.clear();
    }

    /// Reports that signals may have been lost, after a channel was subscribed to: they may have been
    /// sent before.
    pub fn report_loss(&self) -> Result<(), Closed> {
        self.publish(Signal::SignalsLost)
    }

    /// Delivers a message, unless it is a repeated one.
    pub fn receive(&mut self, message: Message) -> Result<(), Closed> {
        if self.senders.len() >= MAX_PROCESSES {
            self.senders.retain(|process, _| *process == self.process);
        }
        let (process, number) = (message.process, message.number);
        let known = self.senders.get(&process).map(|it| it.last_number);
        if known.is_some_and(|last| number <= last && last - number < MAX_REPEATED) {
            return Ok(());
        }
        let sender = self.senders.entry(process).or_insert(MessageSender {
            last_number: number,
            fragments: Fragments::default(),
        });
        sender.last_number = number;
        if process == self.process {
            return Ok(());
        }
        let is_next = known.is_none_or(|last| last.checked_add(1) == Some(number));
        let signals = sender.fragments.add(message, is_next);
        if self.drop_unfinished() || !is_next {
            self.publish(Signal::SignalsLost)?;
        }
        signals.into_iter().try_for_each(|signal| {
            metrics::counter!("bus_signals_received").increment(1);
            self.publish(signal)
        })
    }

    /// Drops the parts of signals if they are of too many processes. Returns true if it did.
    fn drop_unfinished(&mut self) -> bool {
        let unfinished = self.senders.values().filter(|it| it.fragments.has_any());
        let are_too_many = unfinished.count() > MAX_UNFINISHED;
        if are_too_many {
            let senders = self.senders.values_mut();
            senders.for_each(|it| it.fragments = Fragments::default());
        }
        are_too_many
    }

    /// The number of the last message of this process that has returned.
    pub fn last_of_this_process(&self) -> Option<u64> {
        self.senders.get(&self.process).map(|it| it.last_number)
    }

    fn publish(&self, signal: Signal) -> Result<(), Closed> {
        self.local.upgrade().ok_or(Closed)?.publish(signal);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::Seq;
    use futures::{FutureExt as _, StreamExt as _, stream::BoxStream};

    use super::*;
    use crate::bus::MessageWriter;

    const MAX_BYTES: usize = 1_000;

    fn appended(head: i64) -> Signal {
        Signal::LogAppended {
            tenant: "default".parse().unwrap(),
            head: Seq(head),
        }
    }

    fn written(writer: &mut MessageWriter, head: i64) -> Message {
        let messages = writer.write(&[appended(head)]);
        Message::read(&messages[0]).unwrap()
    }

    fn delivered(signals: &mut BoxStream<'static, Signal>) -> Vec<Signal> {
        let next = || signals.next().now_or_never().flatten();
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_missing_message_is_reported_and_a_repeated_one_ignored() {
        let local = Arc::new(LocalBus::new());
        let mut signals = local.subscribe(Box::new(|_| true));
        let mut inbox = Inbox::new(Uuid::nil(), Arc::downgrade(&local));
        let mut writer = MessageWriter::new(Uuid::max(), MAX_BYTES);
        let messages: Vec<_> = (0..4).map(|head| written(&mut writer, head)).collect();
        for index in [0, 1, 1, 3, 2] {
            inbox.receive(messages[index].clone()).unwrap();
        }
        let expected = [appended(0), appended(1), Signal::SignalsLost, appended(3)];
        assert_eq!(delivered(&mut signals), expected);
        drop(local);
        assert!(inbox.receive(written(&mut writer, 4)).is_err());
    }

    #[test]
    fn a_number_far_ahead_does_not_silence_a_process() {
        for number in [5_000, 1 << 31, u64::MAX] {
            let local = Arc::new(LocalBus::new());
            let mut signals = local.subscribe(Box::new(|_| true));
            let mut inbox = Inbox::new(Uuid::nil(), Arc::downgrade(&local));
            let mut writer = MessageWriter::new(Uuid::max(), MAX_BYTES);
            let mut forged = written(&mut writer, 0);
            forged.number = number;
            inbox.receive(forged).unwrap();
            inbox.receive(written(&mut writer, 1)).unwrap();
            let expected = [appended(0), Signal::SignalsLost, appended(1)];
            assert_eq!(delivered(&mut signals), expected, "{number}");
        }
    }

    #[test]
    fn the_parts_of_many_processes_are_dropped() {
        let local = Arc::new(LocalBus::new());
        let mut signals = local.subscribe(Box::new(|_| true));
        let mut inbox = Inbox::new(Uuid::nil(), Arc::downgrade(&local));
        for process in 1..=MAX_UNFINISHED as u128 + 1 {
            let text = format!(
                r#"{{"process":"{}","number":0,"signals":[],"fragment":{{"text":"a","isLast":false}}}}"#,
                Uuid::from_u128(process)
            );
            inbox.receive(Message::read(&text).unwrap()).unwrap();
        }
        assert!(!inbox.senders.values().any(|it| it.fragments.has_any()));
        assert_eq!(delivered(&mut signals), [Signal::SignalsLost]);
    }

    #[test]
    fn messages_of_this_process_are_only_counted() {
        let local = Arc::new(LocalBus::new());
        let mut signals = local.subscribe(Box::new(|_| true));
        let mut inbox = Inbox::new(Uuid::max(), Arc::downgrade(&local));
        let mut writer = MessageWriter::new(Uuid::max(), MAX_BYTES);
        assert_eq!(inbox.last_of_this_process(), None);
        written(&mut writer, 0);
        inbox.receive(written(&mut writer, 1)).unwrap();
        assert_eq!(inbox.last_of_this_process(), Some(1));
        assert_eq!(delivered(&mut signals), []);
        inbox.report_loss().unwrap();
        assert_eq!(delivered(&mut signals), [Signal::SignalsLost]);
        inbox.reset();
        assert_eq!(inbox.last_of_this_process(), None);
    }
}
