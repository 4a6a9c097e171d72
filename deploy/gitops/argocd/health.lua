-- Health of the custom resources of Vaultsync in Argo CD, the same for all kinds; see docs/gitops.md.
-- The decisions are those of kstatus, so that Argo CD and Flux agree, except that a suspended resource is Suspended.
local status = obj.status or {}

if obj.metadata.deletionTimestamp ~= nil then
  return { status = "Progressing", message = "being deleted" }
end
if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "waiting for the operator to reconcile generation " .. obj.metadata.generation }
end

local ready
local notes = ""
for _, condition in ipairs(status.conditions or {}) do
  local text = (condition.reason or "") .. ": " .. (condition.message or "")
  if condition.type == "Ready" then
    ready = { status = condition.status, reason = condition.reason, text = text }
  elseif condition.status == "True" then
    if condition.type == "Stalled" then
      return { status = "Degraded", message = text }
    elseif condition.type == "Reconciling" then
      return { status = "Progressing", message = text }
    end
    notes = notes .. "; " .. condition.type .. ": " .. (condition.message or "")
  end
end

if ready == nil then
  return { status = "Progressing", message = "waiting for the operator" }
elseif ready.status == "True" then
  return { status = "Healthy", message = ready.text .. notes }
elseif ready.reason == "Suspended" then
  return { status = "Suspended", message = ready.text .. notes }
end
return { status = "Progressing", message = ready.text .. notes }
