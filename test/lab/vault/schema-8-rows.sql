-- Rows of every table as schema version 8 stored them, in SQLite's syntax, parents before their children. The rows of `account_usage` are
-- inserted by triggers. The master key is 32 bytes of value 7, the password of ann@example.com is "password of ann", and so on.

INSERT INTO settings (name, value) VALUES
  ('master_key', '08ebf245f4054ad5');

INSERT INTO users (email, password_hash, created_at, disabled) VALUES
  ('ann@example.com', '$argon2id$v=19$m=8,t=1,p=1$aorCMcQXJ1A+9vNliag/vQ$uoAN/CaJjQjTEBDeSDcVU9dx292t/p5H2mfW/miwHvs', 1795219200000, 0),
  ('bob@example.com', '$argon2id$v=19$m=8,t=1,p=1$sx+ONXLztml9QKfd10wM0Q$OtXiLZVZoxzJdMyXhyuVYaHvODN1iGmLj+RgfE6TIRw', 1795219200000, 0),
  ('cid@example.com', '$argon2id$v=19$m=8,t=1,p=1$SQOui+M8wcVVD6gAKMDJyw$FfY4/Bz17UYdd3CvJfbKQ+rjOuO0abYUa7hZdmq/A78', 1795219200000, 1);

INSERT INTO refresh_tokens (digest, email, scope, hours, last_used_at) VALUES
  ('4da405c100aacb8b9c50d342284fe69a8177066412e4db1ae9638fe0f60fbea0', 'bob@example.com', 'cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*', 1000000, 1795219200000),
  ('4f95124caa24922a4f52950ce2a1532d726f29395fcda1bbf5a768a1691f1a6c', 'ann@example.com', 'cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*', 1000000, 1795219200000);

INSERT INTO access_tokens (digest, refresh_digest, email, scope, expires_at, created_at, used_at) VALUES
  ('2aa9afe1da17fe4ba710bf140068b343c1ade9adfd8f320228c36d505e567c1c', '4da405c100aacb8b9c50d342284fe69a8177066412e4db1ae9638fe0f60fbea0', 'bob@example.com', 'cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*', 5395219200000, 1795219200000, 0),
  ('afd2aa09e3ee7b6638dae734ec17e212fb539b0a9b21438ecdfc81b656083f03', '4f95124caa24922a4f52950ce2a1532d726f29395fcda1bbf5a768a1691f1a6c', 'ann@example.com', 'cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*', 5395219200000, 1795219200000, 0);

INSERT INTO secrets (id, owner, name, next_version, delete_minutes, delete_at) VALUES
  ('5ddada04-8ae7-4cfb-8472-3f6f6dd2c83f', 'bob@example.com', 'gamma', 2, 525600000, 33331219200000),
  ('826b8fbf-ad43-4ad6-b8bd-5bd1568146e3', 'ann@example.com', 'beta 💚', 2, 525600000, 33331219200000),
  ('fc1489fd-d451-4210-ac06-1c0eb44a3bc0', 'ann@example.com', 'alpha', 3, 500000, 1825219200000);

INSERT INTO secret_versions (secret_id, version, metadata, created_at, updated_at, key_id, wrapped_key, sealed) VALUES
  ('fc1489fd-d451-4210-ac06-1c0eb44a3bc0', 1, '{"application_type":"container","classification":"top","cloud_type":"aws","description":"n/a","environment_type":"dev","expiration_time":10,"note":"n1"}', 1795219200000, 1795219200000, '08ebf245f4054ad5', x'a50dd3c759b0b9f9f999af059ded46c871177feead52128a6ee6202bfd3b8edcdd17639c7c3058a8bd08880ed96b430ea30b9cd7642fb57f2b1ff49f', x'68eacf825e219f9b53493d5d9e7d311c42eb471dfa7b52f3d26f62e867e875c94ed5a2edbfbf35'),
  ('fc1489fd-d451-4210-ac06-1c0eb44a3bc0', 2, '{"application_type":"container","classification":"top","cloud_type":"aws","description":"n/a","environment_type":"dev","expiration_time":10,"note":"n1"}', 1795219200000, 1795219200000, '08ebf245f4054ad5', x'd2cbe3e43600ff2eea2fc21dcfd057a7997d0a455cbfc03069b3bb47cad692fb420d9634d0a8a9fba11ba9818d8a9cae654bc8fd8905d5583d6b2549', x'1469f50db58bab6fc2f61213e5f2411562479c69bbe541908f4f01be4501a793d0ce0f79f8ed6c18'),
  ('826b8fbf-ad43-4ad6-b8bd-5bd1568146e3', 1, '{"application_type":"container","classification":"top","cloud_type":"aws","description":"n/a","environment_type":"dev","expiration_time":10}', 1795219200000, 1795219200000, '08ebf245f4054ad5', x'502e2066b30f816db419ef882d76efd13d11520664fede5a5024e9394f09b591dc6803c45e46e9b3de538b0cc4aadb5ef74c891d53c5d8af63fb5bd0', x'832d6a9026c380da93ba4219d573b55e1468b8ab16b527362966c96e'),
  ('5ddada04-8ae7-4cfb-8472-3f6f6dd2c83f', 1, '{"application_type":"container","classification":"top","cloud_type":"aws","description":"n/a","environment_type":"dev","expiration_time":10}', 1795219200000, 1795219200000, '08ebf245f4054ad5', x'392be2637758aded264376929ad117f71dffb1e99e8f3b405668868ad8e9e566a7fd3ab0de98c48b770d31423d9f114e02df4c476385b71446298a5d', x'1c4ea98f207dc37cdbd30440c6ae3ba1d88705dae65d89bb65a77b06bba8682716');

INSERT INTO files (id, owner, name, next_version) VALUES
  ('af767b73-f412-48ca-a284-ba900fd317d8', 'ann@example.com', 'f.txt', 3),
  ('e5ccfe28-08ec-4524-9ccd-9a094e0e4c46', 'ann@example.com', 'empty', 2);

INSERT INTO file_versions (file_id, version, size, created_at, blob_id, key_id, wrapped_key, sealed) VALUES
  ('af767b73-f412-48ca-a284-ba900fd317d8', 1, 8, 1795219200000, '3e9100b6-6809-40a0-8066-b3f8203d4d1f', '08ebf245f4054ad5', x'a0991a35bcd1c3bc4abc33a363a93a67d2ea8324417e79c474ecd236bd23ec6931b0fa97be9af3491aaf14916eea9133968ca80e2f4e03e30874cae5', x'5bcb003c94ef75fed1c7f2aaa1e5f9c1e948992f4867a7a0c54103ad646e51766b04a0b5ea7f7357a4f0092989ba64214f3809b21fa0e08823465122'),
  ('af767b73-f412-48ca-a284-ba900fd317d8', 2, 8, 1795219200000, 'c03f57d3-f4b3-4d5a-bf58-5b845b994adb', '08ebf245f4054ad5', x'e1803a74638f928015ca477c7006d67fdc7b85893b1df4bd16c8c543c2f6d376dbd5eaa862e85dee3dde2fcbec84448ce657edb62cb6082cab70089c', x'f437fbe70deb2ce8a0624991bd28ccf47cc54af9e2466d3ca20e4f3c6784c9267f09d2d45f2db86cc02e93efa03aaeae038aea7ebf44868f23a859e9'),
  ('e5ccfe28-08ec-4524-9ccd-9a094e0e4c46', 1, 0, 1795219200000, 'b8577442-daf9-4116-8605-6d31b697dce4', '08ebf245f4054ad5', x'f41b009a3880448a5d0cd812d4bfd48447a8def37727b532abb3c995d8dc6fe12973520c3b58d361ad81fb2962384bd254269495ec11cb12692c1cb2', x'ffa5b7b29002d11bba1c4f108d2cb84e3a5229ac0cc98dac2354d12410daa89dac2ae8cc1831ef82a2160aeb14c50e686d5383c86b8b83e32ad49114');

INSERT INTO staged_blobs (blob_id, staged_at) VALUES
  ('00000000-0000-4000-8000-000000000001', 1795219201000);

INSERT INTO file_chunks (blob_id, position, sealed) VALUES
  ('3e9100b6-6809-40a0-8066-b3f8203d4d1f', 0, x'4e7ff10e504d2a0ceb0cfbfec4283b465991b93c12ceb4051c1a2826a3dd2f9dcfc3a2a4'),
  ('c03f57d3-f4b3-4d5a-bf58-5b845b994adb', 0, x'7d280a22d6f66d4455df59ee1b8f9ce6ed5f1a3b53e9e2eaf62a0c0b56de3dedefcd988b'),
  ('00000000-0000-4000-8000-000000000001', 0, x'010203');

INSERT INTO teams (group_id, creator) VALUES
  ('ops', 'ann@example.com');

INSERT INTO team_members (group_id, email) VALUES
  ('ops', 'ann@example.com'),
  ('ops', 'bob@example.com'),
  ('ops', 'cid@example.com');

INSERT INTO person_grants (secret_id, email, reads, writes) VALUES
  ('fc1489fd-d451-4210-ac06-1c0eb44a3bc0', 'bob@example.com', 1, 1);

INSERT INTO team_grants (secret_id, group_id, reads, writes) VALUES
  ('826b8fbf-ad43-4ad6-b8bd-5bd1568146e3', 'ops', 1, 0);

INSERT INTO hidden_team_grants (secret_id, group_id, email) VALUES
  ('826b8fbf-ad43-4ad6-b8bd-5bd1568146e3', 'ops', 'bob@example.com');

INSERT INTO blocked_senders (email, sender) VALUES
  ('bob@example.com', 'cid@example.com');

INSERT INTO outbox (id, kind, recipient, sender, attempts, due_at) VALUES
  ('00000000-0000-4000-8000-000000000002', 'invitation', 'new@example.com', 'ann@example.com', 1, 1795219261000),
  ('00000000-0000-4000-8000-000000000003', 'password_changed', 'bob@example.com', 'bob@example.com', 0, 1795219201000);

INSERT INTO list_revisions (subject, revision) VALUES
  ('files:ann@example.com', '0615a836-7011-46c3-a891-39564f2133c2'),
  ('person:ann@example.com', '5241d8b6-cdab-46f4-b284-4bb76652deae'),
  ('person:bob@example.com', 'a6d16ae3-897c-413e-8981-4d5426d23fa0'),
  ('person:cid@example.com', '4f8fbf0d-197c-4ebd-a5e6-4902554f7dca'),
  ('team:ops', '5241d8b6-cdab-46f4-b284-4bb76652deae');

INSERT INTO sessions (digest, email, created_at, expires_at, used_at) VALUES
  ('61b07850be5a3c4b85d17d7541d4cea0f96240f7dec356044f0ff44d8521a156', 'ann@example.com', 1795219200000, 1795222800000, 1795219200000);

INSERT INTO email_proofs (digest, email, expires_at) VALUES
  ('abababababababababababababababababababababababababababababababab', 'ann@example.com', 1795222801000);

INSERT INTO login_failures (subject, at) VALUES
  ('known:bob@example.com 127.0.0.1', 1802995200000),
  ('known:cid@example.com 127.0.0.1', 1802995200000),
  ('known:ann@example.com 127.0.0.1', 1802995200000),
  ('email-to:cid@example.com', 1795219200000),
  ('email-by:127.0.0.1', 1795219200000),
  ('account:bob@example.com', 1795219201000);

INSERT INTO staged_sizes (blob_id, owner, bytes) VALUES
  ('00000000-0000-4000-8000-000000000001', 'ann@example.com', 3);

INSERT INTO admin_actions (id, at, action, email) VALUES
  ('d42c8dc1-40ba-453a-92dc-4ac0075a8f93', 1795219201000, 'disable', 'cid@example.com');
