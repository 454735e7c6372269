-- a copy of the database keeps no credential and calls nobody
UPDATE ai_config SET api_key_encrypted = NULL, active = FALSE;
UPDATE woow_paas_platform_mcp_server
   SET api_key_encrypted = NULL, headers_json_encrypted = NULL, header_names = NULL,
       oauth_client_secret_encrypted = NULL, template_values_encrypted = NULL, active = FALSE,
       state = 'disabled', state_message = NULL;
DELETE FROM woow_paas_platform_server_credential;
UPDATE woow_paas_platform_toolbox SET credential_encrypted = NULL, active = FALSE;

-- a backup of an older version has no states of providers, no MCP clients or no webhooks
DO $$ BEGIN
    IF EXISTS (
        SELECT FROM information_schema.columns
         WHERE table_schema = current_schema AND table_name = 'ai_config' AND column_name = 'state_detail'
    ) THEN
        UPDATE ai_config SET state = 'draft', state_message = NULL, state_detail = NULL;
    END IF;
    IF to_regclass('woow_paas_platform_oauth_client') IS NOT NULL THEN
        DELETE FROM woow_paas_platform_oauth_client;
    END IF;
    IF to_regclass('woow_paas_platform_webhook') IS NOT NULL THEN
        UPDATE woow_paas_platform_webhook
           SET secret_encrypted = NULL, old_secret_encrypted = NULL, active = FALSE;
    END IF;
END $$;

-- The rest is for copies that keep their credentials, too (tools/copies.py).
-- A token that two databases renew is lost to both, and what is under way goes on
-- only in the original
DELETE FROM woow_paas_platform_mcp_sign_in_request;
DELETE FROM woow_paas_platform_mcp_sign_in;

-- what people told a server, and what a server wants back with it
UPDATE woow_paas_platform_call_question
   SET content_encrypted = NULL, action = COALESCE(action, 'cancel')
 WHERE content_encrypted IS NOT NULL OR action IS NULL;

-- the original delivers its messages; a backup of an older version has none
DO $$ BEGIN
    IF to_regclass('woow_paas_platform_webhook_delivery') IS NOT NULL THEN
        DELETE FROM woow_paas_platform_webhook_delivery WHERE state = 'pending';
    END IF;
END $$;

-- runs start and end in the original; a backup of an older version has none
DO $$ BEGIN
    IF to_regclass('woow_paas_platform_ai_run') IS NOT NULL THEN
        UPDATE woow_paas_platform_ai_run
           SET state = 'stopped', ended_at = now() AT TIME ZONE 'UTC'
         WHERE state IN ('scheduled', 'started');
    END IF;
END $$;

-- tests of assistants go on in the original; a backup of an older version has none
DO $$ BEGIN
    IF to_regclass('woow_paas_platform_assistant_test_result') IS NOT NULL THEN
        UPDATE woow_paas_platform_assistant_test_result
           SET state = 'stopped', lease_until = NULL WHERE state IN ('queued', 'running');
        UPDATE woow_paas_platform_assistant_test_run
           SET state = 'stopped', ended_at = now() AT TIME ZONE 'UTC' WHERE state = 'running';
    END IF;
END $$;

-- calls and turns that are under way go on in the original only
UPDATE woow_paas_platform_tool_call
   SET outcome = CASE WHEN started_at IS NULL THEN 'cancelled' ELSE 'unknown' END,
       llm_text = 'The call was not finished.', ask_state = NULL
 WHERE outcome IS NULL;
WITH ended AS (
    UPDATE woow_paas_platform_ai_turn
       SET state = 'stopped', ended_at = now() AT TIME ZONE 'UTC', lease_owner = NULL, lease_until = NULL
     WHERE state IN ('queued', 'running', 'waiting')
 RETURNING id
)
INSERT INTO woow_paas_platform_ai_turn_event (turn_id, seq, payload)
SELECT ended.id,
       final.seq + (
           SELECT COALESCE(MAX(event.seq), 0)
             FROM woow_paas_platform_ai_turn_event event
            WHERE event.turn_id = ended.id
       ),
       final.payload
  FROM ended
 CROSS JOIN (VALUES
       (1, '{"type": "state", "state": "stopped"}'::jsonb),
       (2, '{"type": "done", "message_id": null, "state": "stopped"}'::jsonb)
 ) AS final (seq, payload);
