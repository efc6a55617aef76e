# Sourced by the programs of a bundle's bin/ with their own path in `self`. It needs nothing but the shell and /proc. Afterwards
#   root            is the bundle's folder
#   preset, level   are what this machine runs: CORTADO_PRESET and CORTADO_LEVEL, or the first preset and its highest level
#   programs        is the folder of their binaries
# and the environment is the binaries'. What the machine lacks ends the program with a message.

root=$(CDPATH='' cd -- "${self%/*}/.." && pwd) || exit 1
why=

stop() { echo "${self##*/}: $*" >&2; exit 1; }

# word_of WORD LIST: whether it is one of the words.
word_of() { case " $2 " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

read_cpu_flags() {
  cpu_flags=
  [ -r /proc/cpuinfo ] || stop "/proc/cpuinfo cannot be read: mount /proc"
  while IFS= read -r line; do
    case $line in flags*:*) cpu_flags=${line#*: }; return ;; esac
  done </proc/cpuinfo
}

# Whether the processor has the flags that the level FOLDER was compiled for; `why` names the first that it lacks.
processor_runs() {
  read -r needed <"$1/flags" || needed=
  for flag in $needed; do
    word_of "$flag" "$cpu_flags" || { why="the processor lacks $flag, which ${1##*/} was compiled for"; return 1; }
  done
}

# Sets `folders` to where the loader looks by itself, and `toolkits` to where CUDA's libraries lie otherwise.
read_library_folders() {
  folders="/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib64 /usr/lib64 /usr/lib"
  for file in /etc/ld.so.conf.d/*.conf; do
    [ -r "$file" ] || continue
    while read -r line; do
      case $line in /*) folders="$folders $line" ;; esac
    done <"$file"
  done
  nvcc=$(command -v nvcc) || nvcc=
  toolkits="${CUDA_HOME:+$CUDA_HOME/lib64} ${CUDA_PATH:+$CUDA_PATH/lib64} ${nvcc:+${nvcc%/bin/nvcc}/lib64} /usr/local/cuda/lib64"
  for folder in /usr/local/cuda-*/lib64 /usr/local/cuda/targets/x86_64-linux/lib /opt/cuda/lib64 /usr/local/nvidia/lib64 \
    ${VIRTUAL_ENV:+"$VIRTUAL_ENV"/lib/python3*/site-packages/nvidia/*/lib} /usr/lib/python3*/*-packages/nvidia/*/lib \
    /usr/local/lib/python3*/*-packages/nvidia/*/lib /opt/*/lib/python3*/site-packages/nvidia/*/lib \
    /opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib; do
    [ ! -d "$folder" ] || toolkits="$toolkits $folder"
  done
}

# Whether the machine has the libraries that FOLDER's binaries take from it; adds their folders to `library_path`.
libraries_found() {
  [ -r "$1/wants" ] || return 0
  read -r wanted <"$1/wants"
  read_library_folders
  for library in $wanted; do
    place=
    IFS=:
    for folder in ${LD_LIBRARY_PATH-}; do [ ! -e "$folder/$library" ] || place=known; done
    unset IFS
    for folder in $folders; do [ ! -e "$folder/$library" ] || place=known; done
    for folder in $toolkits; do
      [ -z "$place" ] && [ -e "$folder/$library" ] || continue
      place=$folder
      word_of "$folder" "$library_path" || library_path="$library_path $folder"
    done
    [ -n "$place" ] || { why="$library is not found: load the site's CUDA module, or set CUDA_HOME to the toolkit"; return 1; }
  done
}

has_device() { [ "$1" != cuda ] || [ -e /dev/nvidiactl ] || [ -e /dev/nvidia0 ] || [ -e /dev/dxg ]; }

# Sets `level` to the highest of PRESET's that the processor runs.
choose_level() {
  read -r levels <"$root/$1/levels"
  if [ -n "${CORTADO_LEVEL-}" ] && word_of "$CORTADO_LEVEL" "$levels"; then
    level=$CORTADO_LEVEL
    return 0
  fi
  level=
  for one in $levels; do ! processor_runs "$root/$1/$one" || level=$one; done
  [ -n "$level" ]
}

choose() {
  read -r presets <"$root/presets"
  read_cpu_flags
  [ -z "${CORTADO_PRESET-}" ] || word_of "$CORTADO_PRESET" "$presets" ||
    stop "CORTADO_PRESET is $CORTADO_PRESET; this bundle holds: $presets"
  reasons=
  for preset in ${CORTADO_PRESET:-$presets}; do
    library_path=
    if [ -z "${CORTADO_PRESET-}" ] && [ "$presets" != cuda ] && ! has_device "$preset"; then
      reasons="$reasons$preset: no NVIDIA device; "
    elif choose_level "$preset" && libraries_found "$root/$preset/$level"; then
      return
    else
      reasons="$reasons$preset: $why; "
    fi
  done
  stop "nothing here runs on this machine: ${reasons%; }"
}

# GCC's libraries are the machine's where those are at least as new as the bundle's: the machine's other libraries,
# CUDA's among them, may want them.
add_gcc_libraries() {
  read -r ours <"$root/lib/gcc/version"
  for folder in /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib64 /usr/lib64; do
    for file in "$folder"/libstdc++.so.6.0.*; do
      number=${file##*.so.6.0.}
      case $number in '' | *[!0-9]*) continue ;; esac
      [ "$number" -lt "$ours" ] || return 0
    done
  done
  library_path="$root/lib/gcc $library_path"
}

choose
add_gcc_libraries
for folder in $library_path; do LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder; done
[ -z "${LD_LIBRARY_PATH-}" ] || export LD_LIBRARY_PATH
# A process alone needs no transport but to itself; UCX otherwise looks for networks and reports the ones that it misses.
[ -n "${PMI_RANK-}${PMI_ID-}${PMIX_RANK-}${SLURM_PROCID-}" ] || export UCX_TLS="${UCX_TLS:-self}"
export UCX_LOG_LEVEL="${UCX_LOG_LEVEL:-fatal}"
programs=$root/$preset/$level/bin
