//! Applies the outcomes of commands.

use std::sync::Arc;

use access::AuthContext;
use domain::ProblemCode;
use kit::problem::ApiError;

use super::{End, Finished, Session};
use crate::{
    commands::{AcceptedChat, CommandError, CommandOutcome, Connected, OpenedChannel},
    context::{AdmittedCaller, Caller},
    frames::{
        Channel, ChannelState, ConnectResult, EmptyResult, ReplyFrame, ReplyResult, ServerFrame,
        SubscribeResult, TurnResult,
    },
    published_limits::SOCKET_LIMITS,
    subscriber::Subscriber,
};

const EMPTY: Result<ReplyResult, ApiError> = Ok(ReplyResult::Empty(EmptyResult {}));

impl Session {
    /// Sends the reply to a command.
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
        self.push(&ServerFrame::Reply(Box::new(frame)))
    }

    /// Applies the outcome of a command, and sends the reply.
    pub(super) fn apply(&mut self, finished: Finished) -> Result<(), End> {
        if finished.is_connect {
            self.is_connecting = false;
        }
        let id = Some(finished.id);
        let outcome = match finished.result {
            Ok(outcome) => outcome,
            Err(error) => return self.send_error(id, error),
        };
        match outcome {
            CommandOutcome::Empty => self.reply(id, EMPTY),
            CommandOutcome::Connected(connected) => self.connect(id, connected),
            CommandOutcome::Subscribed(opened) => self.subscribe(id, &opened),
            CommandOutcome::Unsubscribed(channel) => {
                self.unsubscribe(channel);
                self.reply(id, EMPTY)
            }
            CommandOutcome::Refreshed(auth) => self.refresh(id, auth),
            CommandOutcome::AcceptedChat(accepted) => self.await_turn(id, accepted),
            CommandOutcome::Cancelled(turn) => self.reply(
                id,
                Ok(ReplyResult::Turn(TurnResult {
                    turn,
                    replayed: false,
                })),
            ),
        }
    }

    fn send_error(&mut self, id: Option<u64>, error: CommandError) -> Result<(), End> {
        let CommandError { error, close } = error;
        let is_rate_limited = error.code == ProblemCode::RateLimited;
        self.reply(id, Err(error))?;
        match close {
            Some(code) => Err(End::Close(code)),
            None if is_rate_limited => self.count_rejection(),
            None => Ok(()),
        }
    }

    /// Starts the subscriber of an admitted caller.
    pub(super) fn admit(&mut self, admitted: AdmittedCaller) {
        let auth = Arc::clone(&admitted.caller.auth);
        let watch = self.context.state.authenticator.watch_credential(auth);
        self.context.set_caller(admitted.caller.clone());
        let connection_id = self.context.connection_id.clone();
        self.subscriber = Some(Box::new(Subscriber::new(admitted, watch, connection_id)));
        self.connection.deadlines.authenticated();
    }

    fn connect(&mut self, id: Option<u64>, connected: Connected) -> Result<(), End> {
        if let Some(admitted) = connected.admitted {
            self.admit(*admitted);
        }
        self.has_connected = true;
        let (Some(subscriber), Some(caller)) = (&mut self.subscriber, self.context.caller()) else {
            return Ok(());
        };
        let mut channels = Vec::with_capacity(connected.channels.len());
        let mut live = Vec::new();
        for (channel, opened) in connected.channels {
            let opened = opened.and_then(|opened| subscriber.open(&opened).map(|_| opened));
            if let Ok(opened) = &opened
                && opened.replay.is_none()
            {
                live.push(opened.channel);
            }
            channels.push(ChannelState {
                channel,
                ok: opened.is_ok(),
                recovered: opened.as_ref().is_ok_and(OpenedChannel::is_recovered),
                error: opened.err().map(|error| self.context.report(id, &error)),
            });
        }
        let result = ConnectResult {
            connection_id: self.context.connection_id.clone(),
            region: self.context.state.region.name.clone(),
            tenant_id: caller.principal().tenant.clone(),
            head_seq: connected.head,
            ping_interval_ms: self.connection.deadlines.ping_interval_ms(),
            limits: SOCKET_LIMITS,
            channels,
        };
        self.reply(id, Ok(ReplyResult::Connect(result)))?;
        self.join(&live, true)
    }

    fn subscribe(&mut self, id: Option<u64>, opened: &OpenedChannel) -> Result<(), End> {
        let Some(subscriber) = &mut self.subscriber else {
            return Ok(());
        };
        let opening = subscriber.open(opened);
        let is_live = opening.as_ref().is_ok_and(|opening| opening.is_live);
        let result = opening.map(|opening| {
            ReplyResult::Subscribe(SubscribeResult {
                channel: opened.channel,
                recovered: opened.is_recovered(),
                head_seq: opening.head,
            })
        });
        self.reply(id, result)?;
        // For other channels, snapshots follow the replay.
        if is_live {
            self.join(&[opened.channel], true)?;
        }
        Ok(())
    }

    fn join(&mut self, channels: &[Channel], resend: bool) -> Result<(), End> {
        match &mut self.subscriber {
            Some(subscriber) => {
                Ok(subscriber.join(channels, resend, &self.connection.send_queue)?)
            }
            None => Ok(()),
        }
    }

    fn unsubscribe(&mut self, channel: Channel) {
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.close(channel);
        }
    }

    fn refresh(&mut self, id: Option<u64>, auth: Arc<AuthContext>) -> Result<(), End> {
        if let Some(subscriber) = &mut self.subscriber
            && let Err(error) = subscriber.refresh(Arc::clone(&auth))
        {
            return self.reply(id, Err(error.into()));
        }
        if let Some(before) = self.context.caller() {
            let tail = before.tail;
            self.context.set_caller(Caller { auth, tail });
        }
        self.reply(id, EMPTY)?;
        match &mut self.subscriber {
            Some(subscriber) => {
                let send_queue = &self.connection.send_queue;
                subscriber.leave_unreachable(send_queue)?;
                Ok(subscriber.join_newly_visible(send_queue)?)
            }
            None => Ok(()),
        }
    }

    fn await_turn(&mut self, id: Option<u64>, accepted: AcceptedChat) -> Result<(), End> {
        if let Some(subscriber) = &mut self.subscriber {
            subscriber.await_turn(&accepted);
        }
        let channel = Channel::Conversation(accepted.turn.conversation_id);
        let was_running = accepted.is_replayed && !accepted.turn.status.is_final();
        let result = TurnResult {
            turn: accepted.turn,
            replayed: accepted.is_replayed,
        };
        self.reply(id, Ok(ReplyResult::Turn(result)))?;
        // The event that starts the turn, and with it the live text, was sent before.
        if was_running {
            self.join(&[channel], false)?;
        }
        Ok(())
    }
}
