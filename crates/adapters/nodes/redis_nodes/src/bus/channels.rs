//! The channels of a store.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use ports::Signal;
use single_node::bus::{Inbox, LocalBus, Message, MessageWriter};
use uuid::Uuid;

/// The number of channels. In a Cluster they are spread over its servers. All processes of a store
/// must agree on it.
const CHANNELS: usize = 8;
/// The maximum length of a message, in bytes: more than any signal. The server has no such limit, but
/// drops subscribers that are 32 MiB behind.
const MAX_BYTES: usize = 5 << 20;

/// The channels of a store, with the signals that arrive on them.
pub(super) struct Channels {
    names: Vec<String>,
    /// One for each channel: messages are numbered in their channel, because only those of one
    /// channel keep their order.
    inboxes: Vec<Mutex<Inbox>>,
}

/// Writes the messages of this process.
pub(super) struct Writers {
    channels: Arc<Channels>,
    /// One for each channel.
    writers: Vec<MessageWriter>,
}

/// A message to a channel.
pub(super) struct ChannelMessage {
    pub(super) channel: usize,
    pub(super) message: String,
}

impl Channels {
    pub(super) fn new(store: Uuid, process: Uuid, local: &Weak<LocalBus>) -> Self {
        let name = |index| format!("agent-service:{}:signals:{index}", store.simple());
        let inbox = |_| Mutex::new(Inbox::new(process, Weak::clone(local)));
        Self {
            names: (0..CHANNELS).map(name).collect(),
            inboxes: (0..CHANNELS).map(inbox).collect(),
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Forgets the received messages, before a new connection.
    pub(super) fn reset(&self) {
        for inbox in &self.inboxes {
            inbox.lock().reset();
        }
    }

    /// Reports that signals may have been lost, after the channels were subscribed to.
    pub(super) fn report_loss(&self) {
        if let Some(inbox) = self.inboxes.first() {
            // Fails after the bus was dropped, when the task of the connection ends anyway.
            let _ = inbox.lock().report_loss();
        }
    }

    /// Delivers a received message.
    pub(super) fn receive(&self, channel: &[u8], message: &[u8]) {
        let index = self.names.iter().position(|it| it.as_bytes() == channel);
        let message = str::from_utf8(message).ok().and_then(Message::read);
        if let (Some(index), Some(message)) = (index, message) {
            // Fails after the bus was dropped, as above.
            let _ = self.inboxes[index].lock().receive(message);
        }
    }
}

impl Writers {
    pub(super) fn new(channels: Arc<Channels>, process: Uuid) -> Self {
        let writer = |_| MessageWriter::new(process, MAX_BYTES);
        Self {
            channels,
            writers: (0..CHANNELS).map(writer).collect(),
        }
    }

    /// Writes signals to the channels of their tenants, and to `all` channels at least one message.
    pub(super) fn write(&mut self, signals: &[Signal], all: bool) -> Vec<ChannelMessage> {
        let mut by_channel: [Vec<&Signal>; CHANNELS] = Default::default();
        for signal in signals {
            by_channel[channel_of(signal)].push(signal);
        }
        let mut messages = Vec::new();
        for (channel, signals) in by_channel.iter().enumerate() {
            if all || !signals.is_empty() {
                let written = self.writers[channel]
                    .write(signals.iter().copied())
                    .into_iter();
                messages.extend(written.map(|message| ChannelMessage { channel, message }));
            }
        }
        messages
    }

    /// The numbers of the last messages.
    pub(super) fn last_numbers(&self) -> Vec<Option<u64>> {
        let numbers = self.writers.iter().map(MessageWriter::last_number);
        numbers.collect()
    }

    /// Returns true if this process has received its own messages up to these numbers.
    pub(super) fn have_returned(&self, numbers: &[Option<u64>]) -> bool {
        let inboxes = self.channels.inboxes.iter();
        let mut returned = inboxes.map(|inbox| inbox.lock().last_of_this_process());
        numbers.iter().all(|sent| returned.next() >= Some(*sent))
    }
}

/// The channel of a signal, by its tenant. All versions of the service must agree on it.
fn channel_of(signal: &Signal) -> usize {
    let tenant = signal.tenant().map_or("", |tenant| tenant.as_str());
    crc32fast::hash(tenant.as_bytes()) as usize % CHANNELS
}

#[cfg(test)]
mod tests {
    use domain::Seq;

    use super::*;

    fn appended(tenant: &str) -> Signal {
        Signal::LogAppended {
            tenant: tenant.parse().unwrap(),
            head: Seq(1),
        }
    }

    #[test]
    fn the_channel_of_a_tenant_is_the_same_in_all_versions() {
        let channels = ["default", "a", "b", "acme-2"].map(|it| channel_of(&appended(it)));
        assert_eq!(channels, [7, 3, 1, 3]);
        assert_eq!(channel_of(&Signal::SignalsLost), 0);
    }

    #[test]
    fn each_channel_has_its_own_messages() {
        let local = Arc::new(LocalBus::new());
        let channels = Channels::new(Uuid::nil(), Uuid::max(), &Arc::downgrade(&local));
        let mut writers = Writers::new(Arc::new(channels), Uuid::max());
        assert_eq!(writers.last_numbers(), [None; CHANNELS]);
        assert_eq!(writers.write(&[], true).len(), CHANNELS);
        let signals: Vec<_> = (0..100).map(|i| appended(&format!("t{i}"))).collect();
        let mut used: Vec<_> = signals.iter().map(channel_of).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), CHANNELS);
        let written = writers.write(&signals, false);
        let written: Vec<_> = written.iter().map(|it| it.channel).collect();
        assert_eq!(written, used);
        assert_eq!(writers.last_numbers(), [Some(1); CHANNELS]);
    }
}
