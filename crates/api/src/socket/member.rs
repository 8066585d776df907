//! What a socket does for whoever is at its other end, beside carrying out commands.

use std::{future::pending, sync::Arc};

use application::{
    access::{AccessError, Entrant, EntrantWatch, Over},
    chat::TurnSubject,
    realtime::{Tail, TypingNews, visibility},
};
use domain::{Fault, FaultCode, ProblemCode, Seq, Turn};
use futures::future::LocalBoxFuture;
use ports::{EventVisibility, StreamSlot};
use tokio::sync::{broadcast, watch};

use super::{
    Outgoing, Overfull,
    commands::{Chatted, Opened},
    context::{Admission, Caller},
    frame_writer::FrameWriter,
    frames::{Channel, LiveEvent, MOST_CHANNELS, ServerFrame, encode},
    live_texts::LiveTexts,
    reading::read,
    subscriptions::{Notice, Opening, Page, PageRequest, Subscriptions},
};
use crate::{
    access::{Authorized, EventsRead},
    problem::ApiError,
};

/// Whoever is at the other end of a socket, and what it is told.
pub(super) struct Member {
    services: Authorized<EventsRead>,
    connection_id: String,
    tail: Arc<Tail>,
    visibility: EventVisibility,
    watch: EntrantWatch,
    positions: watch::Receiver<Seq>,
    typing: broadcast::Receiver<Arc<TypingNews>>,
    subscriptions: Subscriptions,
    texts: LiveTexts,
    reading: Option<LocalBoxFuture<'static, (PageRequest, Option<Page>)>>,
    _slot: Option<StreamSlot>,
}

/// Something that happened.
pub(super) enum News {
    /// The log has grown.
    Log,
    /// Somebody types, or has stopped; nothing if nobody knows any more who.
    Typing(Option<Arc<TypingNews>>),
    /// Something was said.
    Text,
    /// The past was read.
    Past(PageRequest, Page),
    /// The past cannot be read, now or later.
    Unreadable,
    /// The credential does not hold any longer.
    Over(Over),
}

impl Member {
    /// Whoever was admitted, at the other end of this connection.
    pub(super) fn new(admission: Admission, watch: EntrantWatch, connection_id: String) -> Self {
        let Admission {
            caller,
            services,
            slot,
        } = admission;
        let Caller { entrant, tail } = caller;
        Self {
            visibility: visibility(&entrant.principal),
            watch,
            positions: tail.positions(),
            typing: services.typing.listen(tail.tenant()),
            subscriptions: Subscriptions::default(),
            texts: LiveTexts::default(),
            reading: None,
            services,
            connection_id,
            tail,
            _slot: slot,
        }
    }

    /// Waits for something to happen.
    pub(super) async fn news(&mut self) -> News {
        tokio::select! {
            // The tail that is held here holds the sender.
            _ = self.positions.changed() => News::Log,
            typing = self.typing.recv() => News::Typing(typing.ok()),
            () = self.texts.changed() => News::Text,
            (request, page) = finished(&mut self.reading) => {
                self.reading = None;
                page.map_or(News::Unreadable, |page| News::Past(request, page))
            }
            over = self.watch.over() => News::Over(over),
        }
    }

    /// Goes on as another entrant, who is the same principal.
    pub(super) fn refresh(&mut self, entrant: Arc<Entrant>) -> Result<(), AccessError> {
        self.watch.replace(entrant)?;
        self.visibility = visibility(&self.watch.entrant().principal);
        // What was read or said for the one before may not be for this one.
        self.reading = None;
        self.subscriptions.drop_pages();
        let visibility = &self.visibility;
        self.texts.keep(|subject| shows(visibility, subject));
        Ok(())
    }

    /// Tells what is being said that could not be seen before.
    pub(super) fn join_anew(&mut self, outgoing: &Outgoing) -> Result<(), Overfull> {
        let channels: Vec<_> = self.subscriptions.live_channels().collect();
        self.join(&channels, false, outgoing)
    }

    /// Follows a channel.
    pub(super) fn open(&mut self, opened: &Opened) -> Result<Opening, ApiError> {
        let is_new = !self.subscriptions.has_named(opened.channel);
        if is_new && self.subscriptions.named() >= MOST_CHANNELS {
            let detail = format!("at most {MOST_CHANNELS} channels");
            let fault = Fault::new("/channel", FaultCode::TooMany, detail);
            return Err(ApiError::faults(ProblemCode::ValidationFailed, vec![fault]));
        }
        let (past, head) = (opened.past, opened.head);
        let subscriptions = &mut self.subscriptions;
        Ok(subscriptions.open(opened.channel, opened.agent, past, head))
    }

    /// Follows a channel no longer.
    pub(super) fn close(&mut self, channel: Channel) {
        self.subscriptions.close(channel);
        let rest = &self.subscriptions;
        let is_followed =
            |subject: &TurnSubject| rest.channels().any(|it| it.concerns_turn(subject));
        self.texts.keep(is_followed);
    }

    /// Follows the conversation of a chat until its turn has ended.
    pub(super) fn await_turn(&mut self, chatted: &Chatted) {
        let turn: &Turn = &chatted.turn;
        // What ended before the chat came again is not told again.
        if chatted.is_replayed && turn.status.is_final() {
            return;
        }
        let channel = Channel::Conversation(turn.conversation_id);
        self.subscriptions
            .await_turn(turn.id, channel, turn.agent_id, chatted.position);
    }

    /// Tells what is being said in channels in whose middle the client comes; `again` is whether
    /// also what it was told before.
    pub(super) fn join(
        &mut self,
        channels: &[Channel],
        again: bool,
        outgoing: &Outgoing,
    ) -> Result<(), Overfull> {
        if channels.is_empty() {
            return Ok(());
        }
        let (tenant, visibility) = (self.tail.tenant(), &self.visibility);
        let turns = self.services.live.matching(|subject| {
            subject.tenant == *tenant
                && channels.iter().any(|it| it.concerns_turn(subject))
                && shows(visibility, subject)
        });
        for turn in turns {
            self.texts.join(&turn, again);
        }
        self.texts.send(outgoing)
    }

    /// Takes in what was read of the past.
    pub(super) fn take_in(
        &mut self,
        request: PageRequest,
        page: Page,
        outgoing: &Outgoing,
    ) -> Result<(), Overfull> {
        let mut writer = FrameWriter::new(outgoing, &self.services, &mut self.texts);
        self.subscriptions
            .take_in(request, page, &mut |notice| writer.send(&notice))?;
        let present = writer.present;
        self.join(&present, false, outgoing)
    }

    /// Tells who types, or has stopped.
    pub(super) fn tell_typing(
        &self,
        news: &TypingNews,
        outgoing: &Outgoing,
    ) -> Result<(), Overfull> {
        let concerns = |channel| match channel {
            Channel::Tenant => true,
            Channel::Agent(id) => id == news.agent_id,
            Channel::Conversation(id) => id == news.conversation_id,
        };
        let is_followed = self.subscriptions.channels().any(concerns);
        let is_shown = news.is_shown_to(&self.visibility, &self.connection_id);
        if !is_followed || !is_shown || outgoing.is_congested() {
            return Ok(());
        }
        let event = LiveEvent::TypingUpdated {
            conversation_id: news.conversation_id,
            actor: news.actor.clone(),
            typing: news.typing,
        };
        outgoing.push(encode(&ServerFrame::Live { event }))
    }

    /// Tells what is being said.
    pub(super) fn tell_texts(&mut self, outgoing: &Outgoing) -> Result<(), Overfull> {
        self.texts.send(outgoing)
    }

    /// Tells what the log holds and the client does not have yet, as far as there is room for it.
    pub(super) fn advance(&mut self, outgoing: &Outgoing) -> Result<(), Overfull> {
        let mut writer = FrameWriter::new(outgoing, &self.services, &mut self.texts);
        let mut send = |notice: Notice<'_>| writer.send(&notice);
        let has_room = || outgoing.has_room_or_notifies();
        self.subscriptions.send_replayed(has_room, &mut send)?;
        self.subscriptions
            .send_live(&self.tail, &self.visibility, has_room, &mut send)?;
        let present = writer.present;
        self.join(&present, false, outgoing)?;
        if self.reading.is_none()
            && self.subscriptions.is_behind()
            && outgoing.has_room_or_notifies()
            && let Some(request) = self.subscriptions.next_request()
        {
            let log = Arc::clone(&self.services.log);
            let (tail, visibility) = (Arc::clone(&self.tail), self.visibility.clone());
            self.reading = Some(Box::pin(async move {
                let page = read(&log, &tail, &visibility, &request).await;
                (request, page)
            }));
        }
        Ok(())
    }
}

/// What was read, if anything is being read.
async fn finished(
    reading: &mut Option<LocalBoxFuture<'static, (PageRequest, Option<Page>)>>,
) -> (PageRequest, Option<Page>) {
    match reading {
        Some(reading) => reading.await,
        None => pending().await,
    }
}

/// Whether a reader may know what is said in a turn.
fn shows(visibility: &EventVisibility, subject: &TurnSubject) -> bool {
    visibility.shows_within(subject.user_id.as_deref(), Some(&subject.asker))
}
