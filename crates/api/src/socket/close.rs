//! Why a socket closes, and what the client should do then: every code in one table.

use actix_ws::CloseReason;

/// Whether a client should connect again after a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComeBack {
    /// It would meet the same end again.
    Never,
    /// After a pause, longer with every attempt.
    WithBackOff,
    /// At once, going on from its cursor.
    Now,
}

macro_rules! close_codes {
    ($($name:ident = $number:literal, $reason:literal, $come_back:ident, $title:literal;)*) => {
        /// Why the server closes a socket.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum CloseCode {
            $(#[doc = $title] $name,)*
        }

        impl CloseCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code as it stands in the close frame.
            pub const fn number(self) -> u16 {
                match self { $(Self::$name => $number),* }
            }

            /// The same in a word, for the `goodbye` before it and for the close frame.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason),* }
            }

            /// What it means, in a sentence.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),* }
            }

            /// Whether the client should connect again.
            pub const fn come_back(self) -> ComeBack {
                match self { $(Self::$name => ComeBack::$come_back),* }
            }
        }
    };
}

close_codes! {
    Normal = 1000, "normal", Never, "Both sides are done.";
    ProtocolError = 1002, "protocol_error", Never, "A frame breaks the WebSocket protocol.";
    BinaryFrame = 1003, "binary_frame", Never, "A binary frame came; only text is taken.";
    InvalidText = 1007, "invalid_text", Never, "A text frame is not UTF-8.";
    TooLarge = 1009, "too_large", Never, "A frame or message is too large.";
    Unauthenticated = 4001, "unauthenticated", Never, "The first frame brought no credential that is valid and may read events.";
    Revoked = 4003, "revoked", Never, "The credential does not hold any longer.";
    ConnectTimeout = 4005, "connect_timeout", Never, "The first frame did not come in time.";
    Overloaded = 4100, "overloaded", WithBackOff, "The server has too much to do.";
    RateLimited = 4101, "rate_limited", WithBackOff, "Too many commands came.";
    TooManyConnections = 4109, "too_many_connections", WithBackOff, "Too many connections are open.";
    Draining = 4200, "draining", Now, "The server is shutting down; another node answers.";
    SlowConsumer = 4201, "slow_consumer", Now, "The client reads too slowly.";
    NoPong = 4202, "no_pong", Now, "A ping was not answered in time.";
    RefreshToken = 4203, "refresh_token", Now, "The token has expired: fetch a new one first.";
}

impl CloseCode {
    /// How long the client should wait before it connects again; `None` if it should not. `chance`
    /// is any number, all equally likely: it spreads those who are sent away together.
    pub const fn reconnect_after_ms(self, chance: u32) -> Option<u64> {
        let (least, most) = match self.come_back() {
            ComeBack::Never => return None,
            ComeBack::WithBackOff => (1_000, 5_000),
            ComeBack::Now => (0, 1_000),
        };
        let choices = most - least + 1;
        Some(least + ((chance as u64 * choices) >> u32::BITS))
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
    fn has_every_code_of_the_contract_once() {
        let numbers: Vec<_> = CloseCode::ALL.iter().map(|code| code.number()).collect();
        let contract = [
            1000, 1002, 1003, 1007, 1009, 4001, 4003, 4005, 4100, 4101, 4109, 4200, 4201, 4202,
            4203,
        ];
        assert_eq!(numbers, contract);
    }

    #[test]
    fn the_number_says_whether_to_come_back() {
        for code in CloseCode::ALL {
            let expected = match code.number() / 100 {
                10 | 40 => ComeBack::Never,
                41 => ComeBack::WithBackOff,
                42 => ComeBack::Now,
                class => panic!("{code:?} is of class {class}"),
            };
            assert_eq!(code.come_back(), expected, "{code:?}");
        }
    }

    #[test]
    fn each_has_a_word_of_its_own() {
        let words: HashSet<_> = CloseCode::ALL.iter().map(|code| code.reason()).collect();
        assert_eq!(words.len(), CloseCode::ALL.len());
        for word in words {
            let snake_case = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            assert!(!word.is_empty() && word.chars().all(snake_case), "{word}");
        }
    }

    #[test]
    fn spreads_those_who_come_back_now_over_a_second() {
        let after = |chance| CloseCode::Draining.reconnect_after_ms(chance);
        assert_eq!(after(0), Some(0));
        assert_eq!(after(u32::MAX / 2), Some(500));
        assert_eq!(after(u32::MAX), Some(1_000));
    }

    #[test]
    fn lets_those_who_back_off_wait_for_one_to_five_seconds() {
        let after = |chance| CloseCode::Overloaded.reconnect_after_ms(chance);
        assert_eq!(after(0), Some(1_000));
        assert_eq!(after(u32::MAX / 2), Some(3_000));
        assert_eq!(after(u32::MAX), Some(5_000));
    }

    #[test]
    fn names_no_time_to_those_who_stay_away() {
        for code in [CloseCode::Normal, CloseCode::TooLarge, CloseCode::Revoked] {
            assert_eq!(code.reconnect_after_ms(u32::MAX), None, "{code:?}");
        }
    }

    #[test]
    fn stands_in_the_close_frame_as_number_and_word() {
        let expected = CloseReason {
            code: actix_ws::CloseCode::Other(4201),
            description: Some("slow_consumer".to_owned()),
        };
        assert_eq!(CloseReason::from(CloseCode::SlowConsumer), expected);
        let too_large = CloseReason::from(CloseCode::TooLarge);
        assert_eq!(too_large.code, actix_ws::CloseCode::Size);
    }
}
