//! The list of promises of credentials, tokens, tickets and signing keys.

/// Passes the list of promises of access to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! access_promises {
    ($consumer:ident $($argument:path)?) => {
        $crate::$consumer! {
            [$($argument)?]
            credential_repository {
                a_key_is_stored_unchanged,
                a_client_is_stored_unchanged,
                public_keys_are_stored_unchanged,
                a_duplicate_credential_id_is_a_conflict,
                credential_ids_are_unique_across_keys_and_clients,
                an_unknown_credential_is_not_found,
                find_returns_only_credentials_of_the_requested_kind,
                credentials_of_a_kind_are_listed_newest_first,
                touch_records_the_last_use_of_credentials,
                touch_moves_no_time_backwards,
                touch_ignores_unknown_credentials,
            }
            first_key {
                the_first_key_is_stored_only_once,
                a_first_key_that_could_not_be_shown_does_not_count,
                a_first_key_whose_process_ended_while_showing_it_stays_but_does_not_count,
                no_key_is_shown_after_the_first,
                a_first_key_is_not_stored_after_another_key,
                a_client_does_not_count_as_the_first_key,
                a_rejected_key_does_not_count_as_the_first_key,
                one_of_eight_concurrent_first_keys_is_stored,
            }
            credential_idempotency {
                the_idempotency_entry_is_stored_with_the_credential,
                a_used_key_creates_no_second_credential,
                a_used_key_is_checked_before_a_duplicate_id,
                keys_of_other_operations_and_principals_can_create_credentials,
                idempotency_keys_of_credentials_belong_to_one_tenant,
                a_rejected_credential_writes_no_idempotency_entry,
                one_of_twenty_concurrent_credentials_with_one_key_is_created,
                many_credentials_can_be_created_at_once,
            }
            credential_rotation {
                a_rotation_keeps_the_previous_secret_until_the_given_time,
                a_rotation_without_overlap_discards_the_previous_secret,
                a_second_rotation_discards_the_oldest_secret,
                a_rotation_changes_only_the_proof,
                a_rotation_raises_the_access_version,
                a_revoked_credential_cannot_be_rotated,
                an_unknown_credential_cannot_be_rotated,
                a_rotation_cannot_change_the_kind_of_the_proof,
                a_rotation_replaces_public_keys,
                concurrent_rotations_are_applied_one_after_the_other,
            }
            rotation_idempotency {
                the_idempotency_entry_is_stored_with_the_rotation,
                a_used_key_rotates_nothing,
                a_rejected_rotation_writes_no_idempotency_entry,
                one_of_twenty_concurrent_rotations_with_one_key_is_applied,
            }
            credential_revocation {
                a_revoked_credential_has_the_time_of_its_revocation,
                a_revocation_raises_the_access_version,
                a_second_revocation_changes_nothing,
                an_unknown_credential_cannot_be_revoked,
                concurrent_changes_of_credentials_do_not_block_each_other,
            }
            users {
                a_user_is_stored_unchanged,
                a_patch_changes_only_what_it_names,
                a_patch_with_an_invalid_result_is_rejected,
                a_change_of_a_user_writes_user_updated,
                events_of_users_are_hidden_from_others,
                users_are_listed_by_their_creation,
                a_page_of_users_is_limited_in_bytes,
                users_of_tenants_are_apart,
                users_of_a_group_keep_their_own_values,
            }
            erasures {
                an_erasure_is_pending_until_it_ends,
                the_counts_of_an_erasure_stay_the_same,
                only_the_erased_user_is_made_anonymous,
                a_principal_with_the_id_of_an_erased_user_is_kept,
                idempotency_records_of_an_erased_user_are_removed,
                conversations_deleted_before_an_erasure_are_purged,
                the_generation_of_an_erased_users_tokens_is_kept,
            }
            credential_update {
                an_update_replaces_the_content_of_a_credential,
                an_update_keeps_the_proof_the_scopes_and_the_times,
                an_update_raises_the_access_version_unless_it_has_no_effect,
                a_revoked_or_unknown_credential_cannot_be_updated,
                concurrent_updates_of_a_credential_keep_all_changes,
                concurrent_updates_of_many_credentials_keep_their_own_values,
            }
            token_repository {
                a_revoked_token_stays_revoked,
                the_first_revocation_of_a_token_raises_the_access_version,
                a_second_revocation_of_a_token_changes_nothing,
                eight_concurrent_revocations_of_a_token_succeed,
                an_assertion_can_be_used_once,
                one_of_eight_concurrent_uses_of_an_assertion_succeeds,
                a_withdrawal_raises_the_generation_of_one_user,
                each_withdrawal_raises_the_access_version,
                each_of_eight_concurrent_withdrawals_raises_the_generation,
            }
            ticket_repository {
                redeemed_tickets_are_returned_unchanged,
                finding_a_ticket_does_not_redeem_it,
                a_ticket_can_be_redeemed_once,
                one_of_eight_concurrent_redemptions_succeeds,
                an_expired_ticket_cannot_be_redeemed,
                an_unknown_ticket_cannot_be_redeemed,
                a_duplicate_ticket_is_a_conflict,
            }
            signing_key_repository {
                a_migrated_store_has_no_signing_key,
                a_signing_key_is_stored_unchanged,
                signing_keys_are_listed_newest_first,
                signing_keys_of_the_same_time_are_sorted_by_code_point,
                a_signing_key_is_added_only_if_the_newest_is_given,
                earlier_signing_keys_expire_and_never_later_than_before,
                a_new_signing_key_raises_the_access_version,
                one_of_eight_concurrent_signing_keys_is_added,
            }
            access_maintenance {
                a_purge_removes_expired_idempotency_records,
                a_purge_removes_expired_revoked_tokens,
                a_purge_removes_expired_assertions,
                a_purge_removes_expired_tickets,
                a_purge_removes_expired_signing_keys,
            }
            access_isolation {
                credentials_of_another_tenant_are_not_listed,
                credentials_of_another_tenant_are_not_changed,
                idempotency_keys_belong_to_one_tenant,
                the_same_ids_in_two_tenants_are_different_resources,
            }
        }
    };
}
