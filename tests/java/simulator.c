/* SPDX-License-Identifier: Apache-2.0 */
/* The native methods of io.heed.Simulator, which query and control the simulated NPU. */
#include <ascend_sim/control.h>
#include <jni.h>
#include <stdlib.h>

static jstring text_of(JNIEnv* env, size_t (*report)(char*, size_t)) {
  enum { kCapacity = 1 << 16 };
  char* text = malloc(kCapacity);
  jstring result = NULL;
  if (text == NULL) return NULL;
  text[0] = '\0';
  report(text, kCapacity);
  result = (*env)->NewStringUTF(env, text);
  free(text);
  return result;
}

/* NOLINTBEGIN(readability-identifier-naming): the names are JNI's. */
JNIEXPORT jstring JNICALL Java_io_heed_Simulator_leaks(JNIEnv* env, jclass class) {
  (void)class;
  return text_of(env, ascend_sim_leaks);
}

JNIEXPORT jstring JNICALL Java_io_heed_Simulator_violations(JNIEnv* env, jclass class) {
  (void)class;
  return text_of(env, ascend_sim_violations);
}

JNIEXPORT jlong JNICALL Java_io_heed_Simulator_count(JNIEnv* env, jclass class, jstring what) {
  const char* name = (*env)->GetStringUTFChars(env, what, NULL);
  uint64_t count = 0;
  (void)class;
  if (name == NULL) return 0;
  count = ascend_sim_count(name);
  (*env)->ReleaseStringUTFChars(env, what, name);
  return (jlong)count;
}

JNIEXPORT void JNICALL Java_io_heed_Simulator_setFaults(JNIEnv* env, jclass class, jstring list) {
  const char* faults = (*env)->GetStringUTFChars(env, list, NULL);
  (void)class;
  if (faults == NULL) return;
  ascend_sim_set_faults(faults);
  (*env)->ReleaseStringUTFChars(env, list, faults);
}

JNIEXPORT void JNICALL Java_io_heed_Simulator_delayTasks(JNIEnv* env, jclass class, jint microseconds) {
  (void)env;
  (void)class;
  ascend_sim_delay_tasks((unsigned)microseconds);
}
/* NOLINTEND(readability-identifier-naming) */
