//! Parses command frames, and reports all errors of a frame at once.

use domain::{FaultCode, IdempotencyKey, InputFault, ProblemCode};
use kit::{
    body::{self, BodyError, Schemas},
    problem::ApiError,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Number, Value};

use super::{
    ActFrame, CancelFrame, ChatFrame, ConnectFrame, PingFrame, RefreshFrame, SubscribeFrame,
    TypingFrame, UnsubscribeFrame,
    schema::{COMMANDS, COMMON_FRAME},
};

/// A command and its id.
#[derive(Debug)]
pub struct ClientFrame {
    /// The id, which the reply repeats.
    pub id: u64,
    /// The command.
    pub command: Command,
}

/// A command of a client.
#[derive(Debug)]
pub enum Command {
    /// `connect`.
    Connect(ConnectFrame),
    /// `subscribe`.
    Subscribe(SubscribeFrame),
    /// `unsubscribe`.
    Unsubscribe(UnsubscribeFrame),
    /// `refresh`.
    Refresh(RefreshFrame),
    /// `chat`.
    Chat(Box<ChatFrame>),
    /// `cancel`.
    Cancel(CancelFrame),
    /// `act`.
    Act(ActFrame),
    /// `typing`.
    Typing(TypingFrame),
    /// `ping`.
    Ping,
}

/// A frame that is not a valid command.
#[derive(Debug)]
pub struct InvalidFrame {
    /// The id, if it could be read.
    pub id: Option<u64>,
    /// True if its type is `connect`: such a frame does not close a new socket.
    pub is_connect: bool,
    /// The validation errors.
    pub error: Box<ApiError>,
}

/// Parses one frame.
pub fn read(text: &str, schemas: &Schemas) -> Result<ClientFrame, InvalidFrame> {
    let frame = body::read(text.as_bytes()).map_err(|error| InvalidFrame {
        id: None,
        is_connect: false,
        error: Box::new(error.into()),
    })?;
    let id = frame.value()["id"].as_number().and_then(whole);
    let kind = frame.value()["type"].as_str();
    let is_connect = kind == Some("connect");
    let invalid = |error: ApiError| InvalidFrame {
        id,
        is_connect,
        error: Box::new(error),
    };
    let known = COMMANDS.iter().find(|(name, _)| Some(*name) == kind);
    let component = known.map_or(COMMON_FRAME, |(_, component)| component);
    let value = frame
        .checked(component, schemas)
        .map_err(|error| invalid(error.into()))?;
    let Some((name, _)) = known else {
        return Err(invalid(ProblemCode::UnknownCommand.into()));
    };
    let command = command(name, value).map_err(|error| invalid(error.into()))?;
    match id {
        Some(id) => Ok(ClientFrame { id, command }),
        // The schema requires an id.
        None => Err(invalid(ProblemCode::Internal.into())),
    }
}

fn command(name: &str, mut value: Value) -> Result<Command, BodyError> {
    if let Some(members) = value.as_object_mut() {
        members.retain(|subscriber, _| subscriber != "id" && subscriber != "type");
        if let Some(since) = members.get_mut("since")
            && let Some(position) = since.as_number().and_then(whole)
        {
            *since = position.into();
        }
    }
    Ok(match name {
        "connect" => Command::Connect(typed(value)?),
        "subscribe" => Command::Subscribe(typed(value)?),
        "unsubscribe" => Command::Unsubscribe(typed(value)?),
        "refresh" => Command::Refresh(typed(value)?),
        "chat" => Command::Chat(Box::new(chat(value)?)),
        "cancel" => Command::Cancel(typed(value)?),
        "act" => Command::Act(typed(value)?),
        "typing" => Command::Typing(typed(value)?),
        _ => {
            typed::<PingFrame>(value)?;
            Command::Ping
        }
    })
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, BodyError> {
    body::typed(value, "a command")
}

fn chat(mut value: Value) -> Result<ChatFrame, BodyError> {
    let members = value.as_object_mut();
    let key = members.and_then(|members| members.remove("idempotencyKey"));
    let key = key.as_ref().and_then(Value::as_str);
    let idempotency_key: Option<IdempotencyKey> =
        key.map(str::parse).transpose().map_err(|_malformed| {
            let detail = "1 to 255 visible ASCII characters";
            let fault = InputFault::new("/idempotencyKey", FaultCode::BadFormat, detail);
            BodyError::Faults(vec![fault])
        })?;
    Ok(ChatFrame {
        idempotency_key,
        request: typed(value)?,
    })
}

/// Reads only the id of a frame.
pub(crate) fn read_id(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Head {
        id: Number,
    }
    let head: Head = serde_json::from_str(text).ok()?;
    whole(&head.id)
}

/// Converts a number to an id or a position, however it is written: in JSON Schema, 1.0 is an
/// integer, and so is -0.
fn whole(number: &Number) -> Option<u64> {
    const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;
    let whole = number.as_u64().or_else(|| {
        let double = number.as_f64().filter(|double| double.fract() == 0.0)?;
        // The sum of -0 and 0 is 0.
        format!("{:.0}", double + 0.0).parse().ok()
    });
    whole.filter(|whole| *whole <= MAX_SAFE_INTEGER)
}
