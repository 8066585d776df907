//! The list of promises of conversations and their messages.

/// Passes the list of promises of conversations to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! conversation_promises {
    ($consumer:ident $($argument:path)?) => {
        $crate::$consumer! {
            [$($argument)?]
            conversation_repository {
                an_inserted_conversation_is_stored_unchanged,
                a_conversation_needs_no_user,
                a_greeting_is_stored_as_the_first_message,
                an_insert_writes_conversation_created,
                a_conversation_without_agent_is_not_created,
                the_idempotency_entry_is_stored_with_the_conversation,
                a_used_key_creates_no_second_conversation,
                an_unknown_conversation_is_not_found,
                the_context_reflects_turns_and_messages,
            }
            conversation_names {
                a_conversation_is_found_by_its_name,
                names_differ_by_agent_user_and_key,
                a_used_name_creates_no_second_conversation,
                a_deletion_frees_the_name,
                a_move_takes_the_name_along,
                a_used_name_prevents_a_move,
                one_of_many_first_uses_of_a_name_creates_the_conversation,
                completed_turns_that_use_a_name_first_share_the_conversation,
            }
            conversation_update {
                an_update_replaces_only_what_clients_can_change,
                a_late_update_moves_no_time_backwards,
                an_update_writes_conversation_updated,
                an_update_of_another_conversation_version_is_stale,
                a_deleted_conversation_cannot_be_updated,
            }
            files {
                a_stored_file_is_found_unchanged,
                the_first_recorded_blob_store_stays,
                the_first_recorded_secret_of_links_stays,
                a_used_key_creates_no_second_file,
                a_turn_uses_its_files,
                new_conversations_and_complete_turns_use_files,
                a_queued_turn_uses_its_files,
                unusable_files_begin_no_turn,
                the_content_of_a_deleted_file_is_listed,
                a_file_is_purged_with_its_last_conversation,
                unused_files_are_purged,
                an_erasure_deletes_unused_files,
            }
            uploads {
                uploads_are_counted_and_limited,
                concurrent_uploads_stay_within_their_limit,
                files_of_one_command_are_stored_together,
                counted_uploads_are_purged_after_their_day,
            }
            titles {
                a_title_by_a_model_is_stored_and_logged,
                the_author_of_a_title_is_stored,
                a_title_of_a_person_is_not_replaced,
                a_conversation_that_has_changed_gets_no_title,
                a_deleted_conversation_gets_no_title,
            }
            moved_conversations {
                events_follow_the_user_of_their_conversation,
                a_move_is_a_deletion_to_the_user_before,
                events_of_moved_conversations_pass_the_same_filters,
                a_conversation_that_comes_back_is_no_deletion,
                turns_go_along_with_their_conversation,
                moves_are_among_the_changes_for_caches,
                events_of_a_deleted_conversation_belong_to_the_user_of_their_time,
            }
            conversation_lookups {
                many_conversations_are_found_by_id,
                texts_of_messages_are_found_by_place,
            }
            conversation_listing {
                conversations_are_listed_by_latest_activity,
                activity_moves_a_conversation_to_the_front,
                conversations_are_filtered_by_agent_and_user,
                has_more_is_exact_for_conversations,
                inactive_conversations_are_not_skipped_while_others_become_active,
                conversations_of_deleted_agents_are_not_listed,
            }
            conversation_scans {
                conversations_are_scanned_by_conditions,
                conversations_are_scanned_by_rating,
                waiting_conversations_are_scanned_by_their_time,
                a_scan_looks_at_a_bounded_number_of_conversations,
            }
            conversation_deletion {
                a_deletion_writes_conversation_deleted,
                a_deleted_conversation_is_not_found_by_any_method,
                deleting_a_conversation_cancels_open_turns_first,
                ended_turns_of_a_deleted_conversation_are_not_found,
                deleting_another_version_of_a_conversation_is_stale,
                deleting_an_unknown_conversation_is_not_found,
                deleting_a_conversation_keeps_everything_else,
            }
            forks {
                a_fork_copies_the_visible_messages,
                a_fork_continues_after_the_copied_messages,
                a_fork_of_a_changed_conversation_is_stale,
                a_fork_outlives_the_original,
                a_fork_copies_the_greeting,
            }
            idle_conversations {
                agents_are_listed_with_their_retention,
                conversations_are_idle_since_their_last_message,
                imported_conversations_are_not_idle_before_their_import,
                conversations_with_open_turns_are_not_idle,
            }
            imports {
                imported_messages_are_stored_unchanged,
                imported_messages_are_found_by_the_clients_id,
                turns_continue_after_imported_messages,
            }
            staff_messages {
                a_message_of_staff_is_stored_after_all_others,
                a_message_of_staff_uses_its_files,
                a_deleted_message_of_staff_uses_its_files_no_longer,
                a_used_key_writes_no_second_message_of_staff,
                messages_of_staff_are_not_superseded,
                a_message_of_staff_is_rewritten,
                a_message_of_staff_is_deleted,
                a_change_of_a_message_of_staff_is_stale_after_another_message,
                histories_contain_messages_of_staff_with_their_authors,
                a_reply_follows_what_staff_wrote_meanwhile,
                a_retry_answers_its_message_after_one_of_staff,
                forks_copy_messages_of_staff,
                messages_of_staff_of_a_group_keep_their_own_values,
            }
            feedback {
                a_rating_is_shown_with_its_message_and_its_event,
                the_same_rating_again_changes_nothing,
                another_rating_replaces_the_one_before,
                a_deleted_rating_is_shown_nowhere,
                what_does_not_exist_is_not_rated,
                a_rating_moves_with_its_conversation,
                ratings_of_a_deleted_message_are_deleted,
                superseded_messages_keep_their_ratings_and_forks_copy_none,
                ratings_of_a_group_keep_their_own_values,
                users_do_not_see_events_of_ratings_by_others,
                ratings_are_purged_with_their_conversation,
            }
            feedback_listing {
                ratings_are_listed_with_their_messages,
                ratings_are_filtered_by_agent_and_user,
                ratings_are_filtered_by_rating_and_time,
                ratings_are_listed_in_pages,
                ratings_of_what_is_deleted_are_not_listed,
                a_page_looks_at_a_bounded_number_of_ratings,
            }
            handed_over {
                a_conversation_waits_for_staff,
                a_call_of_the_agent_hands_its_conversation_over,
                turns_complete_without_a_reply_while_staff_handles_them,
                a_running_turn_replies_after_a_hand_over,
                edits_are_busy_while_staff_handles_a_conversation,
                a_hand_over_dismisses_the_turn_that_waits_for_the_user,
                a_turn_does_not_begin_to_wait_after_a_hand_over,
                a_late_change_of_a_title_leaves_a_conversation_waiting,
                history_keeps_turns_for_staff_that_may_have_acted,
                conversations_are_filtered_by_who_handles_them,
            }
            notes {
                notes_are_listed_in_their_conversation,
                notes_are_written_and_deleted_once,
                events_of_notes_are_hidden_from_users,
                a_note_uses_its_files,
                only_staff_uses_files_of_notes,
                unusable_files_make_no_note,
                notes_are_purged_with_their_conversation,
            }
            open_turns {
                open_turns_are_shown_in_their_order,
                a_change_of_a_turns_status_raises_the_position_of_its_conversation,
                activity_elsewhere_does_not_raise_the_position,
            }
            messages {
                messages_are_stored_with_every_member,
                messages_are_listed_in_both_orders,
                pages_of_messages_stay_correct_while_messages_are_added,
                messages_show_the_state_of_their_turns,
                superseded_messages_are_listed_on_request,
                a_conversation_without_messages_has_an_empty_page,
                a_page_of_messages_has_its_log_position,
            }
            find_message {
                a_message_is_found_with_its_place,
                superseded_messages_have_no_place_among_the_others,
                a_message_is_found_in_its_conversation_only,
                a_message_is_found_by_the_clients_own_id,
            }
            log_replay {
                a_client_that_replays_the_log_has_the_stored_messages,
            }
            history {
                history_has_the_newest_messages_oldest_first,
                history_has_only_earlier_messages,
                history_limits_can_be_zero_or_absent,
                history_counts_characters_of_whole_messages,
                history_applies_both_limits,
                history_ends_at_the_first_message_that_does_not_fit,
                history_omits_messages_of_failed_turns,
                history_omits_superseded_messages,
                history_includes_messages_that_are_answered_again,
                history_includes_the_greeting,
            }
            past_calls {
                history_has_the_calls_of_completed_turns,
                history_keeps_turns_without_a_reply_that_may_have_acted,
                history_keeps_failed_turns_with_an_approved_call,
                history_has_no_call_without_an_end,
                history_ends_with_the_acts_for_the_same_message,
                history_has_the_acts_of_superseded_messages,
                history_ends_with_the_acts_of_repeated_turns,
            }
            forked_calls {
                history_of_a_fork_has_the_calls_of_the_original,
                history_of_a_fork_has_the_acts_of_messages_answered_again,
                history_of_a_fork_has_the_acts_of_superseded_messages,
                a_fork_does_not_wait,
            }
        }
    };
}
