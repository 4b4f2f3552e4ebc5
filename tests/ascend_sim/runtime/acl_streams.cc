// SPDX-License-Identifier: Apache-2.0
// AscendCL's functions for streams and events.
#include <chrono>
#include <string>

#include "runtime/errors.h"
#include "runtime/faults.h"
#include "runtime/report.h"
#include "runtime/runtime.h"

using namespace ascend_sim;

namespace {

aclError create_stream(const char* function, aclrtStream* stream) {
  if (stream == nullptr) return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": stream is null");
  const Caller caller = ascend_sim::caller(function);
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (const auto code = fault_of(Call::CreateStream))
    return fail(*code, std::string(function) + ": a fault that the test asked for");
  auto created = std::make_shared<Stream>(caller.context->device);
  const std::lock_guard lock(runtime().mutex);
  *stream = runtime().new_handle();
  runtime().streams[*stream] = {*stream, caller.context->handle, std::move(created), caller.context->device};
  return ACL_SUCCESS;
}

aclError destroy_stream(const char* function, aclrtStream stream, bool forced) {
  const Caller caller = ascend_sim::caller(function, Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  if (stream == nullptr)
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": stream is null; the default stream has no end");
  StreamObject ending;
  if (const aclError code = find_stream(function, caller, stream, ending)) return code;
  {
    const std::lock_guard lock(runtime().mutex);
    runtime().streams.erase(stream);
  }
  if (forced) ending.stream->cancel();
  ending.stream.reset();
  return caller.context->device->lost();
}

aclError synchronise_stream(const char* function, aclrtStream stream, int32_t milliseconds) {
  if (milliseconds < -1) return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": timeout is below -1");
  const Caller caller = ascend_sim::caller(function, Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  StreamObject found;
  if (const aclError code = find_stream(function, caller, stream, found)) return code;
  if (!found.stream->wait(milliseconds))
    return fail(kSynchroniseTimeout,
                std::string(function) + ": the stream was not done within " + std::to_string(milliseconds) + " ms");
  device_memory().check_guards();
  if (const aclError code = caller.context->device->meet()) return code;
  count("synchronize");
  return ACL_SUCCESS;
}

aclError find_event(const char* function, const Caller& caller, aclrtEvent handle, EventObject& found) {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": event is null");
  const std::lock_guard lock(runtime().mutex);
  const auto object = runtime().events.find(handle);
  if (object == runtime().events.end())
    return fail(kInvalidHandle, std::string(function) + ": there is no such event, or no longer");
  if (object->second.context != caller.context->handle)
    return fail(kOfAnotherContext, std::string(function) + ": the event belongs to another context than the thread's");
  found = object->second;
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtCreateStream(aclrtStream* stream) { return create_stream("aclrtCreateStream", stream); }

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t /*priority*/, uint32_t /*flag*/) {
  return create_stream("aclrtCreateStreamWithConfig", stream);
}

aclError aclrtDestroyStream(aclrtStream stream) { return destroy_stream("aclrtDestroyStream", stream, false); }

aclError aclrtDestroyStreamForce(aclrtStream stream) { return destroy_stream("aclrtDestroyStreamForce", stream, true); }

aclError aclrtSynchronizeStream(aclrtStream stream) { return synchronise_stream("aclrtSynchronizeStream", stream, -1); }

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return synchronise_stream("aclrtSynchronizeStreamWithTimeout", stream, timeout);
}

aclError aclrtSynchronizeDevice() {
  const Caller caller = ascend_sim::caller("aclrtSynchronizeDevice", Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(runtime().mutex);
    for (const auto& [handle, stream] : runtime().streams) {
      if (stream.device == caller.context->device) streams.push_back(stream.stream);
    }
    for (const auto& [handle, context] : runtime().contexts) {
      if (context->device == caller.context->device && context->default_stream)
        streams.push_back(context->default_stream);
    }
  }
  for (const auto& stream : streams) stream->wait();
  device_memory().check_guards();
  if (const aclError code = caller.context->device->meet()) return code;
  count("synchronize");
  return ACL_SUCCESS;
}

aclError aclrtCreateEvent(aclrtEvent* event) {
  if (event == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateEvent: event is null");
  const Caller caller = ascend_sim::caller("aclrtCreateEvent");
  if (caller.code != ACL_SUCCESS) return caller.code;
  auto created = std::make_shared<Event>();
  const std::lock_guard lock(runtime().mutex);
  *event = runtime().new_handle();
  runtime().events[*event] = {*event, caller.context->handle, std::move(created)};
  return ACL_SUCCESS;
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t /*flag*/) { return aclrtCreateEvent(event); }

aclError aclrtDestroyEvent(aclrtEvent event) {
  const Caller caller = ascend_sim::caller("aclrtDestroyEvent", Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  EventObject ending;
  if (const aclError code = find_event("aclrtDestroyEvent", caller, event, ending)) return code;
  if (!ending.event->is_complete(ending.event->latest()))
    report_violation("aclrtDestroyEvent of an event that queued work has yet to reach: synchronise first");
  const std::lock_guard lock(runtime().mutex);
  runtime().events.erase(event);
  return caller.context->device->lost();
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  const Caller caller = ascend_sim::caller("aclrtRecordEvent");
  if (caller.code != ACL_SUCCESS) return caller.code;
  EventObject found_event;
  if (const aclError code = find_event("aclrtRecordEvent", caller, event, found_event)) return code;
  StreamObject found;
  if (const aclError code = find_stream("aclrtRecordEvent", caller, stream, found)) return code;
  // The event is reached on a lost device too, so that nothing waits forever.
  const auto reached = [event = found_event.event, point = found_event.event->record()] { event->complete(point); };
  found.stream->submit({"aclrtRecordEvent", nullptr, {}, reached});
  return ACL_SUCCESS;
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  const Caller caller = ascend_sim::caller("aclrtStreamWaitEvent");
  if (caller.code != ACL_SUCCESS) return caller.code;
  EventObject found_event;
  if (const aclError code = find_event("aclrtStreamWaitEvent", caller, event, found_event)) return code;
  StreamObject found;
  if (const aclError code = find_stream("aclrtStreamWaitEvent", caller, stream, found)) return code;
  const auto wait = [event = found_event.event, point = found_event.event->latest()] {
    event->wait(point);
    return ACL_SUCCESS;
  };
  found.stream->submit({"aclrtStreamWaitEvent", wait, {}, nullptr});
  return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtQueryEventStatus: status is null");
  const Caller caller = ascend_sim::caller("aclrtQueryEventStatus");
  if (caller.code != ACL_SUCCESS) return caller.code;
  EventObject found;
  if (const aclError code = find_event("aclrtQueryEventStatus", caller, event, found)) return code;
  const bool is_complete = found.event->latest() > 0 && found.event->is_complete(found.event->latest());
  *status = is_complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  const Caller caller = ascend_sim::caller("aclrtSynchronizeEvent", Manner::Releases);
  if (caller.code != ACL_SUCCESS) return caller.code;
  EventObject found;
  if (const aclError code = find_event("aclrtSynchronizeEvent", caller, event, found)) return code;
  found.event->wait(found.event->latest());
  device_memory().check_guards();
  if (const aclError code = caller.context->device->meet()) return code;
  count("synchronize");
  return ACL_SUCCESS;
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent start_event, aclrtEvent end_event) {
  if (ms == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtEventElapsedTime: ms is null");
  const Caller caller = ascend_sim::caller("aclrtEventElapsedTime");
  if (caller.code != ACL_SUCCESS) return caller.code;
  std::chrono::steady_clock::time_point times[2];
  const aclrtEvent events[2] = {start_event, end_event};
  for (int i = 0; i < 2; ++i) {
    EventObject found;
    if (const aclError code = find_event("aclrtEventElapsedTime", caller, events[i], found)) return code;
    if (!found.event->time(times[i]))
      return fail(kEventNotRecorded, "aclrtEventElapsedTime: an event was not recorded, or not reached yet");
  }
  *ms = std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
  return ACL_SUCCESS;
}
