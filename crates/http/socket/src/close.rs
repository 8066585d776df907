//! The close codes of sockets, and what a client should do after each, in one table.

use access::CredentialEnd;
use actix_ws::CloseReason;

/// The advice to a client on reconnecting after a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    /// Do not connect again: the same close would follow.
    Never,
    /// Connect again after a pause that grows with every attempt.
    WithBackOff,
    /// Connect again at once and resume from the cursor.
    Now,
}

macro_rules! close_codes {
    ($($name:ident = $number:literal, $reason:literal, $reconnect:ident, $title:literal;)*) => {
        /// The reason for which the server closes a socket.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum CloseCode {
            $(#[doc = $title] $name,)*
        }

        impl CloseCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The number in the close frame.
            pub const fn number(self) -> u16 {
                match self { $(Self::$name => $number),* }
            }

            /// The code as a word, in the close frame and in the `goodbye` before it.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason),* }
            }

            /// A description in one sentence.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),* }
            }

            /// The advice to the client on reconnecting.
            pub const fn reconnect(self) -> Reconnect {
                match self { $(Self::$name => Reconnect::$reconnect),* }
            }
        }
    };
}

impl From<CredentialEnd> for CloseCode {
    fn from(end: CredentialEnd) -> Self {
        match end {
            CredentialEnd::Revoked => Self::Revoked,
            CredentialEnd::Expired => Self::RefreshToken,
            CredentialEnd::HomeUnavailable => Self::UseAnotherRegion,
        }
    }
}

close_codes! {
    Normal = 1000, "normal", Never, "The connection is complete.";
    ProtocolError = 1002, "protocol_error", Never, "A frame breaks the WebSocket protocol.";
    BinaryFrame = 1003, "binary_frame", Never, "The client sent a binary frame; only text frames are supported.";
    InvalidText = 1007, "invalid_text", Never, "A text frame is not UTF-8.";
    TooLarge = 1009, "too_large", Never, "A frame or message is too large.";
    Unauthenticated = 4001, "unauthenticated", Never, "The first frame contained no valid credential with permission to read events.";
    Revoked = 4003, "revoked", Never, "The credential was revoked.";
    ConnectTimeout = 4005, "connect_timeout", Never, "The first frame did not arrive in time.";
    Overloaded = 4100, "overloaded", WithBackOff, "The server is overloaded.";
    RateLimited = 4101, "rate_limited", WithBackOff, "The client sent too many commands.";
    TooManyConnections = 4109, "too_many_connections", WithBackOff, "Too many connections are open.";
    Draining = 4200, "draining", Now, "The server is shutting down; another node accepts connections.";
    SlowConsumer = 4201, "slow_consumer", Now, "The client reads too slowly.";
    NoPong = 4202, "no_pong", Now, "The client did not answer a ping in time.";
    RefreshToken = 4203, "refresh_token", Now, "The token has expired: fetch a new one before you reconnect.";
    UseAnotherRegion = 4205, "use_another_region", Now, "This region has lost its home region for too long: connect to another one.";
}

impl CloseCode {
    /// The milliseconds that the client should wait before it connects again; `None` if it should
    /// not. `random` is a uniformly distributed number: it spreads the clients that are
    /// disconnected at the same time.
    pub const fn reconnect_after_ms(self, random: u32) -> Option<u64> {
        let (least, most) = match self.reconnect() {
            Reconnect::Never => return None,
            Reconnect::WithBackOff => (1_000, 5_000),
            Reconnect::Now => (0, 1_000),
        };
        let choices = most - least + 1;
        Some(least + ((random as u64 * choices) >> u32::BITS))
    }
}

impl From<CloseCode> for CloseReason {
    fn from(code: CloseCode) -> Self {
        Self {
            code: code.number().into(),
            description: Some(code.reason().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_has_every_documented_code_once() {
        let numbers: Vec<_> = CloseCode::ALL.iter().map(|code| code.number()).collect();
        let contract = [
            1000, 1002, 1003, 1007, 1009, 4001, 4003, 4005, 4100, 4101, 4109, 4200, 4201, 4202,
            4203, 4205,
        ];
        assert_eq!(numbers, contract);
    }

    #[test]
    fn the_class_of_the_number_determines_the_reconnect_advice() {
        for code in CloseCode::ALL {
            let expected = match code.number() / 100 {
                10 | 40 => Reconnect::Never,
                41 => Reconnect::WithBackOff,
                42 => Reconnect::Now,
                class => panic!("{code:?} is of class {class}"),
            };
            assert_eq!(code.reconnect(), expected, "{code:?}");
        }
    }

    #[test]
    fn every_code_has_a_distinct_snake_case_reason() {
        let words: HashSet<_> = CloseCode::ALL.iter().map(|code| code.reason()).collect();
        assert_eq!(words.len(), CloseCode::ALL.len());
        for word in words {
            let snake_case = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            assert!(!word.is_empty() && word.chars().all(snake_case), "{word}");
        }
    }

    #[test]
    fn immediate_reconnects_are_spread_over_one_second() {
        let after = |chance| CloseCode::Draining.reconnect_after_ms(chance);
        assert_eq!(after(0), Some(0));
        assert_eq!(after(u32::MAX / 2), Some(500));
        assert_eq!(after(u32::MAX), Some(1_000));
    }

    #[test]
    fn reconnects_with_back_off_wait_for_one_to_five_seconds() {
        let after = |chance| CloseCode::Overloaded.reconnect_after_ms(chance);
        assert_eq!(after(0), Some(1_000));
        assert_eq!(after(u32::MAX / 2), Some(3_000));
        assert_eq!(after(u32::MAX), Some(5_000));
    }

    #[test]
    fn codes_without_reconnect_have_no_delay() {
        for code in [CloseCode::Normal, CloseCode::TooLarge, CloseCode::Revoked] {
            assert_eq!(code.reconnect_after_ms(u32::MAX), None, "{code:?}");
        }
    }

    #[test]
    fn the_close_frame_contains_number_and_reason() {
        let expected = CloseReason {
            code: actix_ws::CloseCode::Other(4201),
            description: Some("slow_consumer".to_owned()),
        };
        assert_eq!(CloseReason::from(CloseCode::SlowConsumer), expected);
        let too_large = CloseReason::from(CloseCode::TooLarge);
        assert_eq!(too_large.code, actix_ws::CloseCode::Size);
    }
}
