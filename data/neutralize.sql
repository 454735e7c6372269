-- a copy of the database keeps no credential and calls nobody
UPDATE ai_config SET api_key_encrypted = NULL, active = FALSE;
UPDATE woow_paas_platform_mcp_server
   SET api_key_encrypted = NULL, headers_json_encrypted = NULL, header_names = NULL,
       oauth_client_secret_encrypted = NULL, template_values_encrypted = NULL, active = FALSE;
DELETE FROM woow_paas_platform_server_credential;
UPDATE woow_paas_platform_toolbox SET credential_encrypted = NULL, active = FALSE;
DELETE FROM woow_paas_platform_mcp_sign_in_request;
DELETE FROM woow_paas_platform_mcp_sign_in;
