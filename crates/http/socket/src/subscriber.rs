//! The subscriber of a socket: sends events and live data to its caller.

mod join_replies;

use std::{future::pending, sync::Arc};

use access::{AccessError, AuthContext, CredentialEnd, CredentialWatch};
use application::{
    live_turns::TurnSubject,
    realtime::{Tail, TypingUpdate, visibility},
};
use domain::{Audience, FaultCode, Seq, Turn};
use futures::future::LocalBoxFuture;
use kit::{
    auth::{Authorized, EventsRead},
    problem::ApiError,
};
use ports::{EventVisibility, StreamSlot};
use tokio::sync::{broadcast, watch};

use super::{
    SendQueue, SendQueueFull,
    channel_replies::ChannelReplies,
    commands::{AcceptedChat, OpenedChannel},
    context::{AdmittedCaller, Caller},
    frames::{Channel, LiveEvent, MAX_CHANNELS, ServerFrame, UnsubscribeReason, encode},
    live_replies::LiveReplies,
    notice_sender::NoticeSender,
    page_reader::read_page,
    subscriptions::{Notice, Page, PageRequest, SubscriptionStart, Subscriptions},
};

/// The authenticated caller of a socket, with its subscriptions and live replies.
pub(super) struct Subscriber {
    services: Authorized<EventsRead>,
    connection_id: String,
    tail: Arc<Tail>,
    visibility: EventVisibility,
    watch: CredentialWatch,
    positions: watch::Receiver<Seq>,
    typing: broadcast::Receiver<Arc<TypingUpdate>>,
    subscriptions: Subscriptions,
    live_replies: LiveReplies,
    page_read: Option<LocalBoxFuture<'static, (PageRequest, Option<Page>)>>,
    _slot: Option<StreamSlot>,
}

/// An event for the subscriber.
pub(super) enum SubscriberEvent {
    /// The log has new events.
    Log,
    /// A user started or stopped typing; `None` if updates were lost.
    Typing(Option<Arc<TypingUpdate>>),
    /// Live replies have new data.
    LiveReply,
    /// A page of past events was read.
    PageRead(PageRequest, Page),
    /// Past events cannot be read, permanently.
    Unreadable,
    /// The credential is no longer valid.
    CredentialEnded(CredentialEnd),
}

impl Subscriber {
    /// Creates the subscriber of an admitted caller.
    pub(super) fn new(
        admitted: AdmittedCaller,
        watch: CredentialWatch,
        connection_id: String,
    ) -> Self {
        let AdmittedCaller {
            caller,
            services,
            slot,
        } = admitted;
        let Caller { auth, tail } = caller;
        let live_replies = LiveReplies::default();
        let replies = ChannelReplies {
            tenant: tail.tenant().clone(),
            live: Arc::clone(&services.live),
            remote: Arc::clone(live_replies.remote()),
        };
        Self {
            visibility: visibility(&auth.principal),
            watch,
            positions: tail.positions(),
            typing: services.typing.listen(tail.tenant()),
            subscriptions: Subscriptions::new(replies),
            live_replies,
            page_read: None,
            services,
            connection_id,
            tail,
            _slot: slot,
        }
    }

    /// Waits for the next event.
    pub(super) async fn next_event(&mut self) -> SubscriberEvent {
        tokio::select! {
            // `self.tail` holds the sender, so this cannot fail.
            _ = self.positions.changed() => SubscriberEvent::Log,
            typing = self.typing.recv() => SubscriberEvent::Typing(typing.ok()),
            () = self.live_replies.changed() => SubscriberEvent::LiveReply,
            (request, page) = page_result(&mut self.page_read) => {
                self.page_read = None;
                page.map_or(SubscriberEvent::Unreadable, |page| SubscriberEvent::PageRead(request, page))
            }
            end = self.watch.ended() => SubscriberEvent::CredentialEnded(end),
        }
    }

    /// Replaces the credential by another one of the same principal.
    pub(super) fn refresh(&mut self, auth: Arc<AuthContext>) -> Result<(), AccessError> {
        self.watch.replace(auth)?;
        self.visibility = visibility(&self.watch.auth_context().principal);
        // Data that was read for the old credential may not be visible to the new one.
        self.page_read = None;
        self.subscriptions.drop_pages();
        let visibility = &self.visibility;
        self.live_replies
            .retain(|subject| is_turn_visible(visibility, subject));
        Ok(())
    }

    /// Ends the subscriptions of channels that a new credential cannot reach.
    pub(super) fn leave_unreachable(
        &mut self,
        send_queue: &SendQueue,
    ) -> Result<(), SendQueueFull> {
        let closed = self.subscriptions.close_unreachable(&self.visibility.reach);
        closed.into_iter().try_for_each(|channel| {
            let reason = UnsubscribeReason::Deleted;
            send_queue.push(encode(&ServerFrame::Unsubscribed { channel, reason }))
        })
    }

    /// Subscribes to a channel.
    pub(super) fn open(&mut self, opened: &OpenedChannel) -> Result<SubscriptionStart, ApiError> {
        let is_new = !self.subscriptions.has_named(opened.channel);
        if is_new && self.subscriptions.named() >= MAX_CHANNELS {
            let detail = format!("at most {MAX_CHANNELS} channels");
            return Err(ApiError::invalid("/channel", FaultCode::TooMany, detail));
        }
        let (replay, head) = (opened.replay, opened.head);
        let subscriptions = &mut self.subscriptions;
        Ok(subscriptions.open(opened.channel, opened.agent, replay, head))
    }

    /// Ends the subscription of a channel.
    pub(super) fn close(&mut self, channel: Channel) {
        self.subscriptions.close(channel);
        let rest = &self.subscriptions;
        let is_followed =
            |subject: &TurnSubject| rest.channels().any(|it| it.matches_turn(subject));
        self.live_replies.retain(is_followed);
    }

    /// Follows the conversation of a chat until its turn has ended.
    pub(super) fn await_turn(&mut self, accepted: &AcceptedChat) {
        let turn: &Turn = &accepted.turn;
        // A repeated chat does not repeat the events of a turn that has ended.
        if accepted.is_replayed && turn.status.is_final() {
            return;
        }
        let channel = Channel::Conversation(turn.conversation_id);
        self.subscriptions
            .await_turn(turn.id, channel, turn.agent_id, accepted.position);
    }

    /// Accepts a page of past events.
    pub(super) fn accept_page(
        &mut self,
        request: PageRequest,
        page: Page,
        send_queue: &SendQueue,
    ) -> Result<(), SendQueueFull> {
        let (services, replies) = (&self.services, &mut self.live_replies);
        let mut sender = NoticeSender::new(send_queue, services, replies, &self.visibility);
        self.subscriptions
            .accept_page(request, page, &mut |notice| sender.send(&notice))?;
        let to_join = sender.to_join;
        self.join(&to_join, false, send_queue)
    }

    /// Sends a typing update.
    pub(super) fn send_typing(
        &self,
        update: &TypingUpdate,
        send_queue: &SendQueue,
    ) -> Result<(), SendQueueFull> {
        let matches = |channel| match channel {
            Channel::Tenant => true,
            Channel::Agent(id) => id == update.agent_id,
            Channel::Conversation(id) => id == update.conversation_id,
        };
        let is_followed = self.subscriptions.channels().any(matches);
        let is_shown = update.is_shown_to(&self.visibility, &self.connection_id);
        if !is_followed || !is_shown || send_queue.is_congested() {
            return Ok(());
        }
        let actor = match self.visibility.audience {
            Audience::Staff => update.actor.clone(),
            Audience::User => update.actor.shown_to(update.user_id.as_deref()),
        };
        let event = LiveEvent::TypingUpdated {
            conversation_id: update.conversation_id,
            actor,
            typing: update.typing,
        };
        send_queue.push(encode(&ServerFrame::Live { event }))
    }

    /// Sends new events as far as the queue has room, and starts to read the next page of a replay.
    pub(super) fn send_events(&mut self, send_queue: &SendQueue) -> Result<(), SendQueueFull> {
        let (services, replies) = (&self.services, &mut self.live_replies);
        let mut sender = NoticeSender::new(send_queue, services, replies, &self.visibility);
        let mut send = |notice: Notice<'_>| sender.send(&notice);
        let has_room = || send_queue.request_room();
        self.subscriptions
            .send_replayed(&self.visibility, has_room, &mut send)?;
        self.subscriptions
            .send_live(&self.tail, &self.visibility, has_room, &mut send)?;
        let to_join = sender.to_join;
        self.join(&to_join, false, send_queue)?;
        if self.join_remote() {
            self.live_replies
                .send(send_queue, self.visibility.audience)?;
        }
        self.subscriptions.start_awaited(self.tail.position());
        if self.page_read.is_none()
            && self.subscriptions.is_behind()
            && send_queue.request_room()
            && let Some(request) = self.subscriptions.next_request()
        {
            let log = Arc::clone(&self.services.log);
            let (tail, visibility) = (Arc::clone(&self.tail), self.visibility.clone());
            self.page_read = Some(Box::pin(async move {
                let page = read_page(&log, &tail, &visibility, &request).await;
                (request, page)
            }));
        }
        Ok(())
    }
}

/// Waits for the page that is being read; forever if none is.
async fn page_result(
    page_read: &mut Option<LocalBoxFuture<'static, (PageRequest, Option<Page>)>>,
) -> (PageRequest, Option<Page>) {
    match page_read {
        Some(page_read) => page_read.await,
        None => pending().await,
    }
}

/// Returns whether the caller may see the live data of a turn.
fn is_turn_visible(visibility: &EventVisibility, subject: &TurnSubject) -> bool {
    let (agent, user) = (Some(subject.agent_id), subject.user.get());
    visibility.shows_within(agent, user.as_deref(), Some(&subject.started_by))
}
