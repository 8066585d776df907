//! What is told of a command that was carried out, and done for it.

use std::sync::Arc;

use application::access::Entrant;

use super::{End, Finished, Session};
use crate::{
    problem::ApiError,
    socket::{
        commands::{Chatted, Connected, Done, Opened, Refusal},
        context::{Admission, Caller},
        frames::{
            Channel, ChannelState, ConnectResult, EmptyResult, ReplyFrame, ReplyResult,
            ServerFrame, SubscribeResult, TurnResult, encode,
        },
        limits::SOCKET_LIMITS,
        member::Member,
    },
};
use domain::ProblemCode;

const EMPTY: Result<ReplyResult, ApiError> = Ok(ReplyResult::Empty(EmptyResult {}));

impl Session {
    /// Answers a command.
    pub(super) fn reply(
        &self,
        id: Option<u64>,
        result: Result<ReplyResult, ApiError>,
    ) -> Result<(), End> {
        let frame = match result {
            Ok(result) => ReplyFrame {
                id,
                ok: true,
                result: Some(result),
                error: None,
            },
            Err(error) => ReplyFrame {
                id,
                ok: false,
                result: None,
                error: Some(self.context.report(id, &error)),
            },
        };
        let frame = encode(&ServerFrame::Reply(Box::new(frame)));
        Ok(self.outgoing.push(frame)?)
    }

    /// Tells what came of a command, and does what is left of it to do.
    pub(super) fn finish(&mut self, finished: Finished) -> Result<(), End> {
        if finished.is_connect {
            self.is_connecting = false;
        }
        let id = Some(finished.id);
        let done = match finished.result {
            Ok(done) => done,
            Err(refusal) => return self.refuse(id, refusal),
        };
        match done {
            Done::Empty => self.reply(id, EMPTY),
            Done::Connected(connected) => self.connect(id, connected),
            Done::Subscribed(opened) => self.subscribe(id, &opened),
            Done::Unsubscribed(channel) => {
                self.unsubscribe(channel);
                self.reply(id, EMPTY)
            }
            Done::Refreshed(entrant) => self.refresh(id, entrant),
            Done::Chatted(chatted) => self.await_turn(id, chatted),
            Done::Cancelled(turn) => self.reply(
                id,
                Ok(ReplyResult::Turn(TurnResult {
                    turn,
                    replayed: false,
                })),
            ),
        }
    }

    fn refuse(&mut self, id: Option<u64>, refusal: Refusal) -> Result<(), End> {
        let Refusal { error, close } = refusal;
        let is_too_often = error.code == ProblemCode::RateLimited;
        self.reply(id, Err(error))?;
        match close {
            Some(code) => Err(End::Close(code)),
            None if is_too_often => self.count_refused(),
            None => Ok(()),
        }
    }

    /// Lets whoever was admitted be at the other end.
    pub(super) fn admit(&mut self, admission: Admission) {
        let entrant = Arc::clone(&admission.caller.entrant);
        let watch = self.context.state.authenticator.watch_over(entrant);
        self.context.set_caller(admission.caller.clone());
        let connection_id = self.context.connection_id.clone();
        self.member = Some(Box::new(Member::new(admission, watch, connection_id)));
        self.deadlines.connected();
    }

    fn connect(&mut self, id: Option<u64>, connected: Connected) -> Result<(), End> {
        if let Some(admission) = connected.admission {
            self.admit(*admission);
        }
        self.has_connected = true;
        let (Some(member), Some(caller)) = (&mut self.member, self.context.caller()) else {
            return Ok(());
        };
        let mut channels = Vec::with_capacity(connected.channels.len());
        let mut joined = Vec::new();
        for (channel, opened) in connected.channels {
            let opened = opened.and_then(|opened| member.open(&opened).map(|_| opened));
            if let Ok(opened) = &opened
                && opened.past.is_none()
            {
                joined.push(opened.channel);
            }
            channels.push(ChannelState {
                channel,
                ok: opened.is_ok(),
                recovered: opened.as_ref().is_ok_and(Opened::is_recovered),
                error: opened.err().map(|error| self.context.report(id, &error)),
            });
        }
        let result = ConnectResult {
            connection_id: self.context.connection_id.clone(),
            tenant_id: caller.principal().tenant.clone(),
            head_seq: connected.head,
            ping_interval_ms: self.deadlines.ping_interval_ms(),
            limits: SOCKET_LIMITS,
            channels,
        };
        self.reply(id, Ok(ReplyResult::Connect(result)))?;
        self.join(&joined, true)
    }

    fn subscribe(&mut self, id: Option<u64>, opened: &Opened) -> Result<(), End> {
        let Some(member) = &mut self.member else {
            return Ok(());
        };
        let opening = member.open(opened);
        let is_live = opening.as_ref().is_ok_and(|opening| opening.is_live);
        let subscribed = opening.map(|opening| {
            ReplyResult::Subscribe(SubscribeResult {
                channel: opened.channel,
                recovered: opened.is_recovered(),
                head_seq: opening.head,
            })
        });
        self.reply(id, subscribed)?;
        // Others are told of it behind the replay.
        if is_live {
            self.join(&[opened.channel], true)?;
        }
        Ok(())
    }

    fn join(&mut self, channels: &[Channel], again: bool) -> Result<(), End> {
        match &mut self.member {
            Some(member) => Ok(member.join(channels, again, &self.outgoing)?),
            None => Ok(()),
        }
    }

    fn unsubscribe(&mut self, channel: Channel) {
        if let Some(member) = &mut self.member {
            member.close(channel);
        }
    }

    fn refresh(&mut self, id: Option<u64>, entrant: Arc<Entrant>) -> Result<(), End> {
        if let Some(member) = &mut self.member
            && let Err(error) = member.refresh(Arc::clone(&entrant))
        {
            return self.reply(id, Err(error.into()));
        }
        if let Some(before) = self.context.caller() {
            let tail = before.tail;
            self.context.set_caller(Caller { entrant, tail });
        }
        self.reply(id, EMPTY)?;
        match &mut self.member {
            Some(member) => Ok(member.join_anew(&self.outgoing)?),
            None => Ok(()),
        }
    }

    fn await_turn(&mut self, id: Option<u64>, chatted: Chatted) -> Result<(), End> {
        if let Some(member) = &mut self.member {
            member.await_turn(&chatted);
        }
        let channel = Channel::Conversation(chatted.turn.conversation_id);
        let has_begun_before = chatted.is_replayed && !chatted.turn.status.is_final();
        let result = TurnResult {
            turn: chatted.turn,
            replayed: chatted.is_replayed,
        };
        self.reply(id, Ok(ReplyResult::Turn(result)))?;
        // Its start is not told any more, behind which its text would follow.
        if has_begun_before {
            self.join(&[channel], false)?;
        }
        Ok(())
    }
}
