-- SPDX-License-Identifier: Apache-2.0
-- Distributed Co-Simulation Protocol (DCP 1.0) for Wireshark and tshark, over UDP and TCP.
-- Values of data PDUs are shown where the capture has the configuration that names their types.

local dcp = Proto("dcp", "Distributed Co-Simulation Protocol")

--@TABLES@

local KINDS = {
  u8 = ftypes.UINT8, u16 = ftypes.UINT16, u32 = ftypes.UINT32, u64 = ftypes.UINT64,
  i64 = ftypes.INT64, uuid = ftypes.GUID, rest = ftypes.BYTES,
}
local SIZES = { u8 = 1, u16 = 2, u32 = 4, u64 = 8, i64 = 8, uuid = 16 }
local HEADER = 4  -- bytes of the length in front of a PDU on TCP

local fields = {
  type = ProtoField.uint8("dcp.type", "type", base.HEX, PDU_NAMES),
  host = ProtoField.ipv4("dcp.host", "host"),
  port = ProtoField.uint16("dcp.port", "port"),
  value = ProtoField.string("dcp.value", "value"),
}
for name, code in pairs(FIELD_CODES) do
  local shown = (code == "rest" or code == "uuid") and base.NONE or base.DEC
  fields[name] = ProtoField.new(name, "dcp." .. name, KINDS[code], VALUES[name], shown)
end
dcp.fields = fields

-- Each STC_register begins a new co-simulation, which numbers its data anew. `learned` has, for
-- each of them, the types of the values of each data PDU, by position.
local registrations, learned = {}, {}
function dcp.init()
  registrations, learned = {}, {}
end

local function generation(frame)
  local count = 0
  for _, at in ipairs(registrations) do
    if at <= frame then count = count + 1 end
  end
  return count
end

local function types_of(frame, name, id)
  local mine = generation(frame) .. "/" .. name .. "/" .. id
  learned[mine] = learned[mine] or {}
  return learned[mine]
end

local function layout_of(tvb)
  local layout = tvb:len() > 0 and LAYOUTS[tvb(0, 1):uint()]
  if not layout then return nil end
  local fits = tvb:len() == layout.size or (layout.tail and tvb:len() > layout.size)
  return fits and layout or nil
end

local function value_at(tvb, at, code)
  local kind = DATA_TYPES[code]
  if not kind then return nil end
  if kind.size == 0 then  -- a string or bytes, behind their length
    if at + 4 > tvb:len() then return nil end
    local size = tvb(at, 4):le_uint()
    if at + 4 + size > tvb:len() then return nil end
    if size == 0 then return "", 4 end
    local range = tvb(at + 4, size)
    return kind.name == "string" and range:string() or tostring(range:bytes()), 4 + size
  end
  if at + kind.size > tvb:len() then return nil end
  local range = tvb(at, kind.size)
  if kind.float then
    local digits = kind.size == 4 and "%.9g" or "%.17g"
    return string.format(digits, range:le_float()), kind.size
  end
  if kind.size == 8 then
    return tostring(kind.signed and range:le_int64() or range:le_uint64()), 8
  end
  return tostring(kind.signed and range:le_int() or range:le_uint()), kind.size
end

local function show_values(tvb, at, types, item)
  local texts, position = {}, 0
  while at < tvb:len() do
    local text, size = value_at(tvb, at, types[position])
    if not text then return nil end
    item:add(fields.value, tvb(at, size), text)
    texts[#texts + 1] = text
    at, position = at + size, position + 1
  end
  return #texts > 0 and "values=(" .. table.concat(texts, ", ") .. ")" or nil
end

local function learn(layout, read, pinfo)
  if pinfo.visited then return end
  if layout.name == "STC_register" then
    registrations[#registrations + 1] = pinfo.number
  elseif layout.name == "CFG_input" then
    types_of(pinfo.number, "data_id", read.data_id)[read.pos] = read.source_data_type
  elseif layout.name == "CFG_tunable_parameter" then
    types_of(pinfo.number, "param_id", read.param_id)[read.pos] = read.source_data_type
  end
end

-- The list names the first PDUs of a packet; a master may send hundreds in one.
local MOST_NAMED, packet, named = 6, nil, 0
local function describe(pinfo, text)
  if packet ~= pinfo.number or tostring(pinfo.cols.protocol) ~= "DCP" then
    packet, named = pinfo.number, 0
    pinfo.cols.protocol = "DCP"
    pinfo.cols.info = ""
  end
  named = named + 1
  if named <= MOST_NAMED then
    pinfo.cols.info:append((named > 1 and "; " or "") .. text)
  elseif named == MOST_NAMED + 1 then
    pinfo.cols.info:append("; ...")
  end
  pinfo.cols.info:fence()
end

local function dissect(tvb, pinfo, tree)
  local layout = layout_of(tvb)
  if not layout then return 0 end
  local item = tree:add(dcp, tvb(), "DCP " .. layout.name)
  item:add(fields.type, tvb(0, 1))
  local at, read, words = 1, {}, { layout.name }
  for _, name in ipairs(layout.fields) do
    local code = FIELD_CODES[name]
    local range = tvb(at, SIZES[code])
    if code == "uuid" then
      item:add(fields[name], range)
    else
      item:add_le(fields[name], range)
      read[name] = SIZES[code] < 8 and range:le_uint() or tostring(range:le_int64())
      local named = VALUES[name] and VALUES[name][read[name]]
      words[#words + 1] = name .. "=" .. (named or read[name])
    end
    at = at + SIZES[code]
  end
  learn(layout, read, pinfo)
  if layout.tail and at < tvb:len() then
    local rest = tvb(at)
    item:add(fields[layout.tail], rest)
    if layout.tail == "address" and rest:len() == 6 then
      item:add_le(fields.port, rest(0, 2))
      item:add_le(fields.host, rest(2, 4))
      words[#words + 1] = tostring(rest(2, 4):le_ipv4()) .. ":" .. rest(0, 2):le_uint()
    elseif layout.tail == "payload" and (read.data_id or read.param_id) then
      local name = read.data_id and "data_id" or "param_id"
      local types = types_of(pinfo.number, name, read[name])
      words[#words + 1] = show_values(tvb, at, types, item)
    end
  end
  describe(pinfo, table.concat(words, " "))
  return tvb:len()
end

local function dissect_framed(tvb, pinfo, tree)
  local function length(buffer, _, offset)
    return HEADER + buffer(offset, HEADER):le_uint()
  end
  local function one(buffer, packet, root)
    if buffer:len() > HEADER then dissect(buffer(HEADER):tvb(), packet, root) end
    return buffer:len()
  end
  dissect_tcp_pdus(tvb, tree, HEADER, length, one)
  return tvb:len()
end

function dcp.dissector(tvb, pinfo, tree)
  return pinfo.port_type == 2 and dissect_framed(tvb, pinfo, tree) or dissect(tvb, pinfo, tree)
end

-- Ports are free to choose: a datagram is one of DCP if it has a known type and its length. One
-- whose length says nothing must also bear a number that the configuration has named.
dcp:register_heuristic("udp", function(tvb, pinfo, tree)
  local layout = layout_of(tvb)
  if not layout then return false end
  if layout.name:sub(1, 4) == "DAT_" then
    local types = types_of(pinfo.number, layout.fields[2], tvb(3, 2):le_uint())
    if next(types) == nil then return false end
  end
  dissect(tvb, pinfo, tree)
  return true
end)

dcp:register_heuristic("tcp", function(tvb, pinfo, tree)
  if tvb:len() <= HEADER then return false end
  local size = tvb(0, HEADER):le_uint()
  if size == 0 or HEADER + size > tvb:len() or not layout_of(tvb(HEADER, size):tvb()) then
    return false
  end
  pinfo.conversation = dcp
  dissect_framed(tvb, pinfo, tree)
  return true
end)

DissectorTable.get("udp.port"):add_for_decode_as(dcp)
DissectorTable.get("tcp.port"):add_for_decode_as(dcp)
